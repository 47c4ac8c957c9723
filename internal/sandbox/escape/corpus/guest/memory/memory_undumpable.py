# tries: to make the figures of its memory unreadable
# must: held: EPERM
from attempt import refused_call

refused_call("prctl", 4, 0, 0, 0, 0)  # PR_SET_DUMPABLE
