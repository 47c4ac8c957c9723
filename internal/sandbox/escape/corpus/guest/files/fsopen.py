# tries: to make a file system
# must: held: EPERM
from attempt import refused_call

refused_call("fsopen", b"tmpfs", 0)
