# tries: to reach the machine's ports
# must: held: EPERM
from attempt import refused_call

refused_call("ioperm", 0, 1, 1)
