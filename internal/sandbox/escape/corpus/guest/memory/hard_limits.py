# tries: to raise the limits that hold its memory, files and processes
# must: held: the hard ones are as low
import resource

from attempt import escaped, held, host

wanted = {resource.RLIMIT_CORE: 1, resource.RLIMIT_NOFILE: host.openFiles, resource.RLIMIT_FSIZE: host.fileSize,
          resource.RLIMIT_MEMLOCK: 64 << 10, resource.RLIMIT_STACK: 8 << 20}
higher = {}
for limit, most in wanted.items():
    hard = resource.getrlimit(limit)[1]
    if most >= 0 and (hard == resource.RLIM_INFINITY or hard > most):
        higher[limit] = hard
(escaped if higher else held)(higher)
