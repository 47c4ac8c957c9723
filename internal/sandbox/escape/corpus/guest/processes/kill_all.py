# tries: to kill everything it may
# must: held: nobody outside is reached
import os
import signal

from attempt import held

try:
    os.kill(-1, signal.SIGTERM)
    held("sent")
except OSError as error:
    held(error)
