# tries: to rename the machine
# must: held: EPERM
from attempt import refused_call

refused_call("sethostname", b"x", 1)
