# tries: to learn that a process of the host exists, and when it runs
# must: held: its number means nothing here
import os
import time

from attempt import escaped, held, host

told = []
for ask in (
    lambda: os.getpgid(host.pid),
    lambda: os.getsid(host.pid),
    lambda: os.getpriority(os.PRIO_PROCESS, host.pid),
    lambda: os.sched_getaffinity(host.pid),
    lambda: os.sched_getscheduler(host.pid),
    lambda: os.sched_getparam(host.pid),
    lambda: time.clock_gettime((~host.pid << 3) | 2),  # clock_getcpuclockid(3)
):
    try:
        told.append(ask())
    except OSError as error:
        why = error
if told:
    escaped(told)
else:
    held(why)
