# tries: to use all memory in many processes, each below the limit
# must: held or killed: at the limit
import os
import time

from attempt import escaped, host, measured

size = host.memory // 4
for _ in range(12):
    if os.fork() == 0:
        block = bytearray(b"x") * size
        time.sleep(60)
        os._exit(len(block) & 1)
measured("started")
time.sleep(3)
escaped("12 processes hold %d MB" % (12 * size >> 20))
