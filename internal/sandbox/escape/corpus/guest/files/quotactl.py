# tries: to change quotas
# must: held: EPERM
from attempt import refused_call

refused_call("quotactl", 0, 0, 0, 0)
