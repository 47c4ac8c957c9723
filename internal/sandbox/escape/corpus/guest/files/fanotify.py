# tries: to watch the file system
# must: held: EPERM
from attempt import refused_call

refused_call("fanotify_init", 0, 0)
