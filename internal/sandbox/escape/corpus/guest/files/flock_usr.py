# tries: to hold a lock on a file of the host
# must: measured: advisory locks on what can be read
import fcntl
import os

from attempt import held, measured

try:
    fcntl.flock(os.open("/usr/bin/env", os.O_RDONLY), fcntl.LOCK_EX | fcntl.LOCK_NB)
    measured("locked until the sandbox ends")
except OSError as error:
    held(error)
