# tries: to move a mount
# must: held: EPERM
from attempt import refused_call

refused_call("move_mount", -100, b"/proc", -100, b"/workspace", 0)
