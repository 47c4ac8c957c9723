# tries: to make a user namespace
# must: held: EPERM
from attempt import refused_call

refused_call("unshare", 0x10000000)
