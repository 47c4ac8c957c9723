# tries: to find a process of the same user on the host
# must: held: no such process
import os

from attempt import host, refused

refused(lambda: os.kill(host.pid, 0))
