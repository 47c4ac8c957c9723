# tries: to make a file in the root directory
# must: held: a read-only file system
from attempt import refused

refused(lambda: open("/codemode_x", "w"))
