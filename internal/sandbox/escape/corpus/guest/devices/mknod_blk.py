# tries: to make a node for the machine's disk
# must: held: EPERM
import os
import stat

from attempt import refused, work

refused(lambda: os.mknod(work + "/disk", stat.S_IFBLK | 0o600, os.makedev(254, 0)))
