# tries: to change a time stamp
# must: held: no such path
import os

from attempt import host, refused

refused(lambda: os.utime(host.home + "/.ssh/id_decoy", (0, 0)))
