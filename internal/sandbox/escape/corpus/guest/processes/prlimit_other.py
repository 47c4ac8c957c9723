# tries: to limit a process of the host
# must: held: no such process
from attempt import host, refused_call

refused_call("prlimit64", host.pid, 7, 0, 0)
