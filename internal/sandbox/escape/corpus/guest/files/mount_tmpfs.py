# tries: to mount
# must: held: EPERM
from attempt import refused_call

refused_call("mount", b"tmpfs", b"/workspace", b"tmpfs", 0, 0)
