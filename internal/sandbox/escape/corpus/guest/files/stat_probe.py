# tries: to learn that a file of the host exists, and how large it is
# must: held: no such path
import os

from attempt import host, refused

refused(lambda: os.stat(host.home + "/.ssh/id_decoy"))
