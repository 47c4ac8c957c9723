# tries: to make a file in /etc
# must: held: a read-only file system
from attempt import refused

refused(lambda: open("/etc/codemode_x", "w"))
