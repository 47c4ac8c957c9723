# tries: to use the kernel's memory through locks on parts of files, as many as there is time for
# must: held or killed: who has many locks is killed
import fcntl
import os
import struct
import time

from attempt import escaped, held, work

LOCKS, FILES = 40_000, 200  # of one file with many, each new lock is compared with all
SET_LOCK = 6  # F_SETLK, with a lock as C has it
total = 0
files = [os.open("%s/locked%d" % (work, n), os.O_RDWR | os.O_CREAT) for n in range(FILES)]
try:
    while total < LOCKS:
        lock = struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 2 * total, 1, 0)
        fcntl.fcntl(files[total % FILES], SET_LOCK, lock)
        total += 1
    time.sleep(2)
    escaped("%d locks" % total)
except OSError as error:
    held("%d locks, then %s" % (total, error))
