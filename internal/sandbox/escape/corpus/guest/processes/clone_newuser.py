# tries: to make a user namespace by clone
# must: held: EPERM
import os

from attempt import refused_call, syscall

pid, _ = result = syscall("clone", 0x10000000 | 17, 0, 0, 0, 0)
if pid == 0:
    os._exit(0)
refused_call("clone", 0x10000000 | 17, 0, 0, 0, 0, result=result)
