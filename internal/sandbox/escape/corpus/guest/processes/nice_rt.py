# tries: to take the processor for itself
# must: held: EPERM
import os

from attempt import escaped, held

got = []
for name, attempt in (("nice", lambda: os.nice(-5)), ("fifo", lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(10)))):
    try:
        attempt()
        got.append(name)
    except OSError:
        pass
(escaped if got else held)(got)
