# tries: to kill codemode
# must: held: the parent has no number here
import os
import signal

from attempt import held, refused

parent = os.getppid()
if parent in (0, 1):
    held("parent %d" % parent)
else:
    refused(lambda: os.kill(parent, signal.SIGKILL))
