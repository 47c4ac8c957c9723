# tries: to use a file as swap space
# must: held: EPERM
from attempt import refused_call

refused_call("swapon", b"/workspace/x", 0)
