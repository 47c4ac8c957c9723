# tries: to have terminals, of which all that use one of the machine's own /dev/pts share some thousands
# must: held or killed: none, or killed with more than 64
import os
import time

from attempt import escaped, held

MOST = 64
ends = []
try:
    for _ in range(MOST * 2):
        ends += os.openpty()
except OSError as error:
    held("%d terminals, then %s" % (len(ends) // 2, error))
if len(ends) > MOST * 2:  # each has two ends
    time.sleep(5)
    escaped("%d terminals" % (len(ends) // 2))
