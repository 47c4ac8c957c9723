# tries: to hold the kernel in a page fault
# must: held: EPERM
from attempt import refused_call

refused_call("userfaultfd", 1)
