# tries: to be spared when memory runs out
# must: held: EACCES, or no /proc
from attempt import refused

refused(lambda: open("/proc/self/oom_score_adj", "wb", 0).write(b"-1000"))
