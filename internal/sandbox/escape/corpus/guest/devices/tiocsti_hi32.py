# tries: to type into the user's terminal, with bits that the kernel ignores (CVE-2023-28100)
# must: held: EPERM
import ctypes

from attempt import refused_call

refused_call("ioctl", 0, 0xDEAD00005412, ctypes.create_string_buffer(b"x"))
