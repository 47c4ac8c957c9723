# tries: to learn that a process of the host exists
# must: held: its number means nothing here
import os

from attempt import host, refused

refused(lambda: os.getpgid(host.pid))
