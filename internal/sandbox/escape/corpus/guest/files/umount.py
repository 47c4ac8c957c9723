# tries: to take a mount away
# must: held: EPERM
from attempt import refused_call

refused_call("umount2", b"/proc", 2)
