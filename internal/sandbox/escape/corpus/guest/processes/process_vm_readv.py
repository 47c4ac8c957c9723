# tries: to read the memory of a process of the host
# must: held: EPERM
from attempt import host, refused_call

refused_call("process_vm_readv", host.pid, 0, 0, 0, 0, 0)
