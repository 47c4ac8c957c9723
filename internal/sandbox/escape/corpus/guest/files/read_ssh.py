# tries: to read a private key of the user who started codemode
# must: held: no such path
from attempt import host, refused

refused(lambda: open(host.home + "/.ssh/id_decoy").read())
