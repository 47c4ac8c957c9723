# tries: to make a mount writable
# must: held: EPERM
from attempt import refused_call

refused_call("mount_setattr", -100, b"/", 0, 0, 0)
