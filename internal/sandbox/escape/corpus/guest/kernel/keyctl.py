# tries: to read the host's keyrings
# must: held: EPERM
from attempt import refused_call

refused_call("keyctl", 0, -3, 0, 0, 0)
