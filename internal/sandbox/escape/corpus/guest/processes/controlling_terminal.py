# tries: to open the terminal that codemode was started from
# must: held: its session has none
from attempt import refused

refused(lambda: open("/dev/tty", "r+b", 0))
