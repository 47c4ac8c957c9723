# tries: to open what the first process of a container has open, so that it would not see that codemode has gone
# must: held: it cannot be opened, or the guest is the first process itself
import os

from attempt import escaped, held

if os.getpid() == 1:
    held("the guest is the first process")
else:
    found = []
    for name in ("fd/0", "fd/1", "mem"):
        try:
            os.open("/proc/1/" + name, os.O_WRONLY | os.O_NONBLOCK)
            found.append(name)
        except OSError:
            pass
    escaped(found) if found else held("nothing of it can be opened")
