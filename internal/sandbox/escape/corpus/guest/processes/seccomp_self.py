# tries: to replace its filter
# must: held: EPERM
from attempt import refused_call

refused_call("seccomp", 1, 0, 0)
