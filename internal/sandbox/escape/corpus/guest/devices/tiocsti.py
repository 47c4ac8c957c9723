# tries: to type into the user's terminal
# must: held: EPERM
import ctypes

from attempt import refused_call

for fd in (0, 1, 2):
    refused_call("ioctl", fd, 0x5412, ctypes.create_string_buffer(b"x"))
