# tries: to leave a process behind
# must: held: it ends with the first one
import os
import time

from attempt import held

if os.fork() == 0:
    try:
        os.setsid()
    except PermissionError:
        os.setpgrp()
    if os.fork() == 0:
        os.closerange(0, 256)
        time.sleep(3600)
    os._exit(0)
held("daemon started")
