# tries: to bend the clock
# must: held: EPERM
import ctypes

from attempt import refused_call

refused_call("adjtimex", ctypes.create_string_buffer(b"\x01" + bytes(400)))
