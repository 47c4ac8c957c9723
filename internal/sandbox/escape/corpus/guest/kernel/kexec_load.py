# tries: to load another kernel
# must: held: EPERM
from attempt import refused_call

refused_call("kexec_load", 0, 0, 0, 0)
