# tries: to read secrets from the environment of processes
# must: held: nobody's is visible
import os

from attempt import escaped, held

hits = []
for pid in filter(str.isdigit, os.listdir("/proc") if os.path.isdir("/proc") else []):
    try:
        if b"CODEMODE_TEST_SECRET" in open("/proc/%s/environ" % pid, "rb").read():
            hits.append(pid)
    except OSError:
        pass
(escaped if hits else held)(hits)
