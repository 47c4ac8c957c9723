# tries: to run a program from memory
# must: held: EPERM
from attempt import refused_call

refused_call("memfd_create", b"x", 0)
