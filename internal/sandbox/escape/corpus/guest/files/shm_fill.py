# tries: to fill /dev/shm
# must: held: ENOSPC, or no such directory
from attempt import escaped, held

written = 0
try:
    for i in range(1024):
        with open("/dev/shm/f%d" % i, "wb", 0) as file:
            written += file.write(b"x" * (1 << 20))
    escaped("%d MB" % (written >> 20))
except OSError as error:
    held("%d MB, then %s" % (written >> 20, error))
