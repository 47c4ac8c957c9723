# tries: to make the root writable again
# must: held: EPERM
from attempt import refused_call

refused_call("mount", 0, b"/", 0, 32, 0)  # MS_REMOUNT
