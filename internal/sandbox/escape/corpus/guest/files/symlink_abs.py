# tries: to reach a host file through a symbolic link
# must: held: a link resolves inside the guest's root
import os

from attempt import host, refused, work

os.symlink(host.home + "/.ssh/id_decoy", work + "/link")
refused(lambda: open(work + "/link").read())
