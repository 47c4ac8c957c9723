# tries: to attach a shared memory segment of the host
# must: held: another IPC namespace
from attempt import host, refused_call

refused_call("shmget", host.shmKey, 0, 0)
