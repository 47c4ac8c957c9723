# tries: to open files without end
# must: held: EMFILE at the limit
import os

from attempt import escaped, held, host

n = 0
try:
    while n < 100000:
        os.open("/dev/null", os.O_RDONLY)
        n += 1
    escaped("%d descriptors" % n)
except OSError as error:
    (held if n <= host.openFiles else escaped)("%d descriptors, then %s" % (n, error))
