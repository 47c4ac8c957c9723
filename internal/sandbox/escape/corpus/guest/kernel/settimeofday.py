# tries: to set the clock
# must: held: EPERM
import ctypes

from attempt import refused_call

refused_call("settimeofday", ctypes.create_string_buffer(16), 0)
