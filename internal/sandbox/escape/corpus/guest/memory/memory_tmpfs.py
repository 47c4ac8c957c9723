# tries: to use more memory than the limit by files and heap together
# must: held or killed: files count
import os
import time

from attempt import escaped, held, host, work

heap = bytearray(b"x") * (host.memory - host.workSize // 2)
written = 0
try:
    for i in range(host.memory >> 20):
        with open("%s/f%d" % (work, i), "wb", 0) as file:
            written += file.write(b"x" * (1 << 20))
except OSError:
    pass
time.sleep(2)
(escaped if len(heap) + written > host.memory * 5 // 4 else held)("%d MB" % ((len(heap) + written) >> 20))
os._exit(0)
