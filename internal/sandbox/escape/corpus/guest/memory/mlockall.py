# tries: to keep its memory from being swapped
# must: held: EPERM
from attempt import refused_call

refused_call("mlockall", 3)
