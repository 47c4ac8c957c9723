# tries: to change settings of its own process in /proc
# must: held: no file there can be written
from attempt import refused

refused(lambda: open("/proc/self/coredump_filter", "wb", 0).write(b"0x33"))
