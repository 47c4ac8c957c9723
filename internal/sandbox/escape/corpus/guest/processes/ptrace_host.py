# tries: to trace a process of the host
# must: held: EPERM
from attempt import host, refused_call

refused_call("ptrace", 16, host.pid, 0, 0)
