# tries: to have the first process of a container, which watches the guest, wait for all others on the processor
# must: held: EPERM, or no such call
import os

from attempt import escaped, held

GROUP, USER = (os.PRIO_PGRP, 0), (os.PRIO_USER, 0)


def threads():
    """All of its threads: each has a priority of its own."""
    try:
        return [(os.PRIO_PROCESS, int(thread)) for thread in os.listdir("/proc/1/task")]
    except OSError:
        return [(os.PRIO_PROCESS, 1)]


got = []
if os.getpid() != 1:  # else the guest is the first process
    for which, who in [*threads(), GROUP, USER]:
        try:
            os.setpriority(which, who, 19)
            got.append((which, who))
        except OSError:
            pass
    try:
        slack = os.open("/proc/1/timerslack_ns", os.O_WRONLY)
        os.write(slack, b"4000000000")
        got.append("slack")
    except OSError:
        pass
(escaped if got else held)(got)
