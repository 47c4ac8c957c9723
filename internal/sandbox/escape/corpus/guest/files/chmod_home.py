# tries: to open up a directory of the user's
# must: held: no such path
import os

from attempt import host, refused

refused(lambda: os.chmod(host.home + "/.ssh", 0o755))
