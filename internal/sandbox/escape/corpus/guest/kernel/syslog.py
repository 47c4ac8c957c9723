# tries: to read the kernel's log
# must: held: EPERM
from attempt import refused_call

refused_call("syslog", 3, 0, 0)
