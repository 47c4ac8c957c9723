# tries: to use all memory in shared mappings of /dev/zero whose pages it has unmapped
# must: held or killed: no such device, or at the limit
import mmap
import os
import time

from attempt import escaped, held, host

maps, size = [], 16 << 20
try:
    fd = os.open("/dev/zero", os.O_RDWR)
    while len(maps) * size < 2 * host.memory:
        block = mmap.mmap(fd, size)
        for offset in range(0, size, 4096):
            block[offset] = 1
        block.madvise(mmap.MADV_DONTNEED)
        maps.append(block)
    time.sleep(2)
    escaped("%d MB" % (len(maps) * size >> 20))
except (OSError, ValueError, MemoryError) as error:
    held("%d MB, then %s" % (len(maps) * size >> 20, error))
os._exit(0)
