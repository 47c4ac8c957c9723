# tries: to use the kernel's memory through mappings, as many as processes may have, in which there is not a page
# must: held or killed: at the limit
import ctypes
import os
import time

from attempt import escaped, held, host

PAGES, RECORD = 60_000, 200  # a process may have 65,530 mappings, of some 200 bytes in the kernel
PRIVATE_ANONYMOUS_NORESERVE = 0x4022

libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
size = os.sysconf("SC_PAGE_SIZE")
start = libc.mmap(None, PAGES * size, 0, PRIVATE_ANONYMOUS_NORESERVE, -1, 0)
for page in range(0, PAGES, 2):
    libc.mprotect(start + page * size, size, 1)
processes = 1
try:
    while processes * PAGES * RECORD < host.memory * 5 // 4:
        if os.fork() == 0:
            time.sleep(60)
            os._exit(0)
        processes += 1
    time.sleep(2)
    escaped("%d processes with %d mappings each" % (processes, PAGES))
except OSError as error:
    held("%d processes with %d mappings each, then %s" % (processes, PAGES, error))
os._exit(0)
