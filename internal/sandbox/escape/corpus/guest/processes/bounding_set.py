# tries: to find a capability that a program could still give it
# must: held: the bounding set is empty
import ctypes

from attempt import escaped, held

PR_CAPBSET_READ = 23
libc = ctypes.CDLL(None)
left = [number for number in range(64) if libc.prctl(PR_CAPBSET_READ, number, 0, 0, 0) == 1]
(escaped if left else held)(left)
