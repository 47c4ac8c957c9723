# tries: to start processes without end
# must: held: EAGAIN at the limit
import os
import time

from attempt import escaped, held, host

n = 0
try:
    while n < 2000:
        if os.fork() == 0:
            time.sleep(60)
            os._exit(0)
        n += 1
    escaped("%d processes" % n)
except OSError as error:
    (held if n < host.processes else escaped)("%d processes, then %s" % (n, error))
