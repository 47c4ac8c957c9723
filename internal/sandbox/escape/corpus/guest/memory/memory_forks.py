# tries: to use all memory in many processes, each below the limit
# must: held or killed: at the limit
import os
import select
import time

from attempt import escaped, held, host, measured

size = host.memory // 4
ready, write = os.pipe()
for _ in range(12):
    if os.fork() == 0:
        block = bytearray(b"x") * size
        os.write(write, b".")
        time.sleep(60)
        os._exit(len(block) & 1)
measured("started")
full = 0
while full < 12:
    if not select.select([ready], [], [], 5)[0]:
        held("%d of 12 processes have got their %d MB" % (full, size >> 20))
    full += len(os.read(ready, 12))
time.sleep(1)
escaped("12 processes hold %d MB" % (12 * size >> 20))
