# tries: to climb out of the root
# must: held: no such path
from attempt import host, refused, work

refused(lambda: open(work + "/../../../../../.." + host.home + "/.ssh/id_decoy").read())
