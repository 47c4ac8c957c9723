# tries: to make a file among the devices
# must: held: a read-only file system
from attempt import refused

refused(lambda: open("/dev/escape", "wb"))
