# tries: to find the host's files in /tmp
# must: held: /tmp is the guest's own, and empty
import os

from attempt import escaped, held

found = [name for name in os.listdir("/tmp") if "decoy" in name]
(escaped if found else held)(found)
