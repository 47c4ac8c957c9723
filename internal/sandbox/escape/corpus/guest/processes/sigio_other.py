# tries: to have the kernel signal a process of the host
# must: held: no such process
import fcntl
import os

from attempt import host, refused

r, w = os.pipe()
refused(lambda: fcntl.fcntl(r, 8, host.pid))  # F_SETOWN
