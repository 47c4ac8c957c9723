# tries: to watch the kernel's counters
# must: held: EPERM
from attempt import refused_call

refused_call("perf_event_open", 0, 0, -1, -1, 0)
