# tries: to use memory in page tables that forks are just copying, which are in no list of processes
# must: held or killed: at the limit
import ctypes
import os
import select
import time

from attempt import escaped, held, host

PROCESSES, STRIDE, TABLE = 4, 2 << 20, 4096  # a table maps 2 MB
PRIVATE_ANONYMOUS_NORESERVE = 0x4022

libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
size = os.sysconf("SC_PAGE_SIZE")
tables = host.memory * 8 // 10 // PROCESSES // TABLE


def copy():
    start = libc.mmap(None, tables * STRIDE, 1, PRIVATE_ANONYMOUS_NORESERVE, -1, 0)
    if start in (None, 2**64 - 1):
        return
    libc.mprotect(start, size, 3)
    ctypes.c_char.from_address(start).value = b"x"  # only what has had a page is copied
    libc.mprotect(start, size, 1)
    for n in range(1, tables):
        ctypes.string_at(start + n * STRIDE, 1)
    for _ in range(20):
        child = os.fork()
        if child == 0:
            os._exit(0)
        os.waitpid(child, 0)
    os.write(told, b".")
    time.sleep(60)


ready, told = os.pipe()
for _ in range(PROCESSES):
    if os.fork() == 0:
        try:
            copy()
        finally:
            os._exit(1)
os.close(told)
copied = 0
while copied < PROCESSES:
    if not select.select([ready], [], [], 20)[0]:
        break
    one = os.read(ready, 1)
    if not one:
        break
    copied += 1
if copied < PROCESSES:
    held("%d of %d processes have copied their tables" % (copied, PROCESSES))
escaped("%d MB of page tables were copied again and again" % (host.memory * 8 // 10 >> 20))
