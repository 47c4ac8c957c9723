# tries: to hide memory from the kernel
# must: held: EPERM
from attempt import refused_call

refused_call("memfd_secret", 0)
