# tries: to leave the first process of a container no descriptors, so that it could not look at memory
# must: held: EPERM, or no such call
import ctypes
import os

from attempt import held, refused_call

if os.getpid() == 1:
    held("the guest is the first process")
else:
    refused_call("prlimit64", 1, 7, (ctypes.c_ulong * 2)(64, 64), 0)
