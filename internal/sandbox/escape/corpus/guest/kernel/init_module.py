# tries: to load a kernel module
# must: held: EPERM
from attempt import refused_call

refused_call("init_module", 0, 0, b"")
