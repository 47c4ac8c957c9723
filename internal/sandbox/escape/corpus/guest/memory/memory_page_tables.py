# tries: to use all memory in page tables, by reading here and there what takes no page of its own
# must: held or killed: at the limit
import mmap
import os
import time

from attempt import escaped, held, host

stride, size = 2 << 20, 8 << 30  # a table maps 2 MB, and takes 4 KB
maps, tables = [], 0
try:
    while tables < 2 * host.memory:
        block = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, prot=mmap.PROT_READ)
        for offset in range(0, size, stride):
            block[offset]
        maps.append(block)
        tables += size // stride * 4096
    time.sleep(2)
    escaped("%d MB of page tables" % (tables >> 20))
except (OSError, MemoryError) as error:
    held("%d MB, then %s" % (tables >> 20, error))
os._exit(0)
