# tries: to take a descriptor from another process
# must: held: EPERM
from attempt import refused_call

refused_call("pidfd_getfd", 0, 0, 0)
