# tries: to mark a file
# must: held: no such path
import os

from attempt import host, refused

refused(lambda: os.setxattr(host.home + "/.ssh/id_decoy", "user.x", b"1"))
