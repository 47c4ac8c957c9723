# tries: to make calls that no filter sees
# must: held: EPERM
from attempt import refused_call

refused_call("io_uring_setup", 8, 0)
