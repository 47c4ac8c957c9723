# tries: to empty a file
# must: held: no such path
import os

from attempt import host, refused

refused(lambda: os.truncate(host.home + "/.ssh/id_decoy", 0))
