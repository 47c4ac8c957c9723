# tries: to change the root
# must: held: EPERM
from attempt import refused_call

refused_call("pivot_root", b"/workspace", b"/workspace")
