# tries: to make calls by the numbers of x32
# must: held: killed by the filter
import ctypes
import os
import platform

from attempt import escaped, held

if platform.machine() != "x86_64":
    held("written for x86-64")
else:
    pid = os.fork()
    if pid == 0:
        ctypes.CDLL(None).syscall(ctypes.c_long(0x40000000 | 39))
        os._exit(0)
    _, status = os.waitpid(pid, 0)
    (held if os.WIFSIGNALED(status) else escaped)("status %#x" % status)
