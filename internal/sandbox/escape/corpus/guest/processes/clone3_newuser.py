# tries: to make a user namespace by clone3, whose flags no filter sees
# must: held: ENOSYS
import ctypes
import os
import struct

from attempt import refused_call, syscall

args = ctypes.create_string_buffer(struct.pack("8Q", 0x10000000, 0, 0, 0, 17, 0, 0, 0))
pid, _ = result = syscall("clone3", args, 64)
if pid == 0:
    os._exit(0)
refused_call("clone3", args, 64, result=result)
