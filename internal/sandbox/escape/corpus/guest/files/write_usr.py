# tries: to make a file among the host's programs
# must: held: a read-only file system
from attempt import refused

refused(lambda: open("/usr/bin/codemode_x", "w"))
