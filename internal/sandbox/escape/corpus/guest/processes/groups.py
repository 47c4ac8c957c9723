# tries: to use a group of the user who started codemode
# must: held: it is in none but its own
import os

from attempt import escaped, held

others = set(os.getgroups()) - {os.getgid()}
(escaped if others or os.getgid() == 0 else held)((os.getgid(), others))
