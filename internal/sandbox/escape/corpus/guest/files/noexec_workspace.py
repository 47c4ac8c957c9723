# tries: to run a program it wrote to /workspace
# must: held: noexec
import os
import shutil
import subprocess

from attempt import refused, work

shutil.copy("/usr/bin/id", work + "/id")
os.chmod(work + "/id", 0o755)
refused(lambda: subprocess.check_output([work + "/id"]))
