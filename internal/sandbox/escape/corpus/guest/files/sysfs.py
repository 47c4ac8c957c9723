# tries: to read about the machine in /sys
# must: held: not mounted
import os

from attempt import refused

refused(lambda: os.listdir("/sys"))
