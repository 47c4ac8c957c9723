# tries: to change its segment table
# must: held: EPERM
from attempt import refused_call

refused_call("modify_ldt", 0, 0, 0)
