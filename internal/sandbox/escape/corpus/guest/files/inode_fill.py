# tries: to make files until the kernel has no memory for them
# must: held: ENOSPC at the number of inodes
import os

from attempt import escaped, held, tmp

n = 0
try:
    while n < 50000:
        os.close(os.open("%s/i%d" % (tmp, n), os.O_CREAT | os.O_WRONLY))
        n += 1
    escaped("%d files" % n)
except OSError as error:
    held("%d files, then %s" % (n, error))
