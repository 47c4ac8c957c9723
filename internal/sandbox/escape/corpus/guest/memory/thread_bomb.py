# tries: to start threads without end
# must: held: no more at the limit
import os
import threading
import time

from attempt import escaped, held, host

threading.stack_size(64 << 10)
n = 0
try:
    while n < 2000:
        threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
        n += 1
    escaped("%d threads" % n)
except (RuntimeError, MemoryError) as error:
    (held if n < host.processes else escaped)("%d threads, then %s" % (n, error))
os._exit(0)
