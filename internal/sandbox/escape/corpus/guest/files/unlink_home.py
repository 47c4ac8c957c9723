# tries: to remove a file
# must: held: no such path
import os

from attempt import host, refused

refused(lambda: os.unlink(host.home + "/.ssh/id_decoy"))
