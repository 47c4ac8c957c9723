# tries: to use all memory
# must: held or killed: at the limit
import os

from attempt import escaped, held, host

blocks, size = [], 16 << 20
try:
    while len(blocks) * size < 3 * host.memory:
        blocks.append(bytearray(b"x") * size)
    escaped("%d MB" % (len(blocks) * size >> 20))
except MemoryError:
    held("MemoryError at %d MB" % (len(blocks) * size >> 20))
os._exit(0)
