# tries: to give a thread descriptors of its own, where no limit of the process holds them and nobody counts them
# must: held: EPERM
from attempt import refused_call

refused_call("close_range", 1000, 1001, 2)  # CLOSE_RANGE_UNSHARE
