# tries: to have the kernel keep memory for links of mappings to processes that have ended, which no list has
# must: held or killed: at the limit
import ctypes
import os
import select
import signal
import time

from attempt import escaped, held, host

GENERATIONS, PROCESSES, LINK = 400, 3, 64  # bytes of a link (anon_vma_chain)
PRIVATE_ANONYMOUS = 0x22

libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
size = os.sysconf("SC_PAGE_SIZE")
splits = host.memory // LINK // GENERATIONS // PROCESSES  # each makes two mappings: twice the limit in all
rest = 2 * splits + 2


def descend():
    start = libc.mmap(None, (rest + GENERATIONS + 2) * size, 3, PRIVATE_ANONYMOUS, -1, 0)
    ctypes.c_char.from_address(start).value = b"x"
    for n in range(GENERATIONS):
        # Two mappings share what the next generation is linked to, which the kernel then does not use again.
        libc.mprotect(start + (rest + GENERATIONS - n) * size, size, 1 if n & 1 else 0)
        if os.fork():
            os._exit(0)
    for _ in range(PROCESSES - 1):
        if os.fork() == 0:
            break
    for n in range(splits - 1, -1, -1):
        libc.mprotect(start + (2 * n + 1) * size, size, 1)
    os.write(told, b".")
    time.sleep(60)


signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # which reaps them
ready, told = os.pipe()
if os.fork() == 0:
    try:
        descend()
    finally:
        os._exit(1)
os.close(told)
done = 0
until = time.monotonic() + 25
while done < PROCESSES and select.select([ready], [], [], max(0, until - time.monotonic()))[0] and os.read(ready, 1):
    done += 1
if done == PROCESSES:
    escaped("the kernel keeps %d MB of links" % (2 * host.memory >> 20))
else:
    held("%d of %d processes have split their mappings" % (done, PROCESSES))
