# tries: to outlive a codemode that is killed
# must: held: EPERM
from attempt import refused_call

refused_call("prctl", 1, 0, 0, 0, 0)
