# tries: to trace its parent
# must: held: EPERM
import os

from attempt import refused_call

refused_call("ptrace", 16, os.getppid(), 0, 0)
