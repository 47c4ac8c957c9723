# tries: to use all memory in a process whose first thread has ended, of which /proc tells nothing
# must: held or killed: at the limit
import os
import threading
import time

from attempt import escaped, held, host, syscall

blocks, size = [], 16 << 20


def allocate():
    time.sleep(0.2)
    try:
        while len(blocks) * size < 2 * host.memory:
            blocks.append(bytearray(b"x") * size)
        time.sleep(2)
        escaped("%d MB" % (len(blocks) * size >> 20))
    except MemoryError:
        held("MemoryError at %d MB" % (len(blocks) * size >> 20))
    os._exit(0)


threading.Thread(target=allocate).start()
syscall("exit", 0)
