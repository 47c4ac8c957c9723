# tries: to enter a namespace
# must: held: EPERM
from attempt import refused_call

refused_call("setns", 0, 0)
