# tries: to run a program it wrote through the dynamic loader
# must: held: nothing is mapped executable from a noexec mount
import os
import shutil
import subprocess

from attempt import escaped, held, tmp

loader = next(filter(os.path.exists, ("/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1")))
shutil.copy("/usr/bin/id", tmp + "/id")
done = subprocess.run([loader, tmp + "/id"], capture_output=True, text=True)
(escaped if "uid=" in done.stdout else held)((done.stdout + done.stderr).strip())
