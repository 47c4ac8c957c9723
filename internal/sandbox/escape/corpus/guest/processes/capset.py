# tries: to raise capabilities
# must: held: EPERM
import ctypes

from attempt import refused_call

header = ctypes.create_string_buffer(b"\x22\x05\x08\x20" + bytes(4))
refused_call("capset", header, ctypes.create_string_buffer(b"\xff" * 24))
