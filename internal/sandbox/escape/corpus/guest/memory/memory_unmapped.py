# tries: to use all memory in shared mappings whose pages it has unmapped, which leaves them allocated
# must: held or killed: EPERM, or at the limit
import mmap
import os
import time

from attempt import escaped, held, host

maps, size = [], 16 << 20
try:
    while len(maps) * size < 2 * host.memory:
        block = mmap.mmap(-1, size)
        for offset in range(0, size, 4096):
            block[offset] = 1
        block.madvise(mmap.MADV_DONTNEED)
        maps.append(block)
    time.sleep(2)
    escaped("%d MB" % (len(maps) * size >> 20))
except (OSError, MemoryError) as error:
    held("%d MB, then %s" % (len(maps) * size >> 20, error))
os._exit(0)
