# tries: to gain privileges by a setuid program
# must: held: the effective user stays
import os
import subprocess

from attempt import escaped, held

gained = []
for name in ("/usr/bin/su", "/usr/bin/sudo", "/usr/bin/passwd", "/usr/bin/mount", "/usr/bin/newgrp"):
    if os.path.exists(name):
        done = subprocess.run([name, "--help"], capture_output=True, stdin=subprocess.DEVNULL)
        gained.append((name, done.returncode))
flag = [line for line in open("/proc/self/status") if line.startswith("NoNewPrivs")] if os.path.exists("/proc/self/status") else ["NoNewPrivs:\t1\n"]
(held if flag == ["NoNewPrivs:\t1\n"] and os.geteuid() == os.getuid() else escaped)(gained)
