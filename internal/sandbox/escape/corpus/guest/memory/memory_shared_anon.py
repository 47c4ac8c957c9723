# tries: to use all memory in shared mappings, which no rlimit counts
# must: held or killed: at the limit
import mmap
import os

from attempt import escaped, held, host

maps, size = [], 16 << 20
try:
    while len(maps) * size < 3 * host.memory:
        block = mmap.mmap(-1, size)
        for offset in range(0, size, 4096):
            block[offset] = 1
        maps.append(block)
    escaped("%d MB" % (len(maps) * size >> 20))
except (OSError, MemoryError) as error:
    held("%d MB, then %s" % (len(maps) * size >> 20, error))
os._exit(0)
