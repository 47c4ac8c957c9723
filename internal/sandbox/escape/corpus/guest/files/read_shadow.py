# tries: to read the host's password hashes
# must: held: no such path
from attempt import refused

refused(lambda: open("/etc/shadow").read())
