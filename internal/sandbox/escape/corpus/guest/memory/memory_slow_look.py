# tries: to use memory while whoever counts it reads a long list of mappings, once for each of many threads
# must: held or killed: at the limit
import ctypes
import os
import select
import threading
import time

from attempt import escaped, held, host, measured, tmp

PAGES, THREADS, FORKS = 50_000, 40, 4
PRIVATE_ANONYMOUS_NORESERVE = 0x4022

for n in range(6):  # of fewer files nobody would read mappings
    open("%s/%d" % (tmp, n), "w").close()
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
page_size = os.sysconf("SC_PAGE_SIZE")
start = libc.mmap(None, PAGES * page_size, 0, PRIVATE_ANONYMOUS_NORESERVE, -1, 0)
for page in range(0, PAGES, 2):
    libc.mprotect(start + page * page_size, page_size, 1)
for _ in range(THREADS):
    threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
time.sleep(1)

size = host.memory // 2
ready, write = os.pipe()
for _ in range(FORKS):
    if os.fork() == 0:
        block = bytearray(b"x") * size
        os.write(write, b".")
        time.sleep(60)
        os._exit(len(block) & 1)
measured("started")
full = 0
while full < FORKS:
    if not select.select([ready], [], [], 5)[0]:
        held("%d of %d processes have got their %d MB" % (full, FORKS, size >> 20))
    full += len(os.read(ready, FORKS))
time.sleep(1)
escaped("%d processes hold %d MB" % (FORKS, FORKS * size >> 20))
