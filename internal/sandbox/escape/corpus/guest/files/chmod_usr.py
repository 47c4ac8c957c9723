# tries: to change the mode of a host directory
# must: held: a read-only file system
import os

from attempt import refused

refused(lambda: os.chmod("/usr/bin", 0o777))
