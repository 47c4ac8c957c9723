# tries: to clone a mount
# must: held: EPERM
from attempt import refused_call

refused_call("open_tree", -100, b"/", 1)
