# tries: to run a program it wrote to /tmp
# must: held: noexec
import os
import shutil
import subprocess

from attempt import refused, tmp

shutil.copy("/usr/bin/id", tmp + "/id")
os.chmod(tmp + "/id", 0o755)
refused(lambda: subprocess.check_output([tmp + "/id"]))
