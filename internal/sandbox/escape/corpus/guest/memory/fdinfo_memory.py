# tries: to have the kernel keep a line for each lock of a file, for each descriptor that tells of that
# must: held or killed: at the limit
import fcntl
import os
import struct
import time

from attempt import escaped, held, host, work

LOCKS, SET_LOCK = 8_000, 6  # F_SETLK, with a lock as C has it
file = os.open(work + "/locked", os.O_RDWR | os.O_CREAT)
try:
    for n in range(LOCKS):
        fcntl.fcntl(file, SET_LOCK, struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 2 * n, 1, 0))
except OSError:
    pass  # some are there
TELLS = "/proc/%d/fdinfo/%d" % (os.getpid(), file)


def read():
    """Reads a byte of it in as many descriptors as there can be."""
    count = 0
    try:
        while True:
            os.read(os.open(TELLS, os.O_RDONLY), 1)
            count += 1
    except OSError:
        return count


try:
    with open(TELLS) as lines:
        size = len(lines.read())
    kept, processes = read() * size, 1
    while kept and kept * processes < host.memory * 5 // 4:
        if os.fork() == 0:
            read()
            time.sleep(60)
        processes += 1
    time.sleep(20)
    if kept * processes < host.memory:
        held("%d bytes" % (kept * processes))
    else:
        escaped("%d bytes in %d processes" % (kept * processes, processes))
except OSError as error:
    held(error)
