# tries: to have the kernel write a log
# must: held: EPERM
from attempt import refused_call

refused_call("acct", b"/workspace/a")
