# tries: to open a file by its inode (the Docker breakout of 2014)
# must: held: EPERM
import ctypes

from attempt import refused_call

handle = ctypes.create_string_buffer(b"\x08\0\0\0\x01\0\0\0\x02\0\0\0\0\0\0\0")
refused_call("open_by_handle_at", 0, handle, 0)
