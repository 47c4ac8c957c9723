# tries: to load a kernel program
# must: held: EPERM
from attempt import refused_call

refused_call("bpf", 0, 0, 0)
