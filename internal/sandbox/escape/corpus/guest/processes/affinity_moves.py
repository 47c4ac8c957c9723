# tries: to have the kernel's threads, which go before all others, move it from one processor to another
# must: held: it is told that it was moved, and is not
import os

from attempt import escaped, held

before = os.sched_getaffinity(0)
os.sched_setaffinity(0, {min(before)})
after = os.sched_getaffinity(0)
if len(before) > 1 and after != before:
    escaped("%s, now %s" % (before, after))
else:
    held("%s processors" % len(after))
