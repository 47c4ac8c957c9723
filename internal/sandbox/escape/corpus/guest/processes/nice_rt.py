# tries: to take the processor for itself
# must: held: EPERM
import os

from attempt import escaped, held, syscall

SET_TIMER_SLACK, GET_TIMER_SLACK = 29, 30  # linux/prctl.h
got = []
attempts = {"nice": lambda: os.nice(-5), "fifo": lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(10))}
for name, attempt in attempts.items():
    try:
        attempt()
        got.append(name)
    except OSError:
        pass
exact = syscall("prctl", SET_TIMER_SLACK, 1, 0, 0, 0)[0] == 0
if exact or syscall("prctl", GET_TIMER_SLACK, 0, 0, 0, 0)[0] < 5_000_000:
    got.append("timers that wake it at once")
(escaped if got else held)(got)
