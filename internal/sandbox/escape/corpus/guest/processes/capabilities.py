# tries: to find a capability it still has
# must: held: none
import os

from attempt import escaped, held

sets = [line.split()[1] for line in open("/proc/self/status") if line.startswith("Cap")] if os.path.exists("/proc/self/status") else []
# Without a user namespace of its own a guest keeps the bounding set, which no_new_privs makes useless.
bounds = sets[3:4] if os.getpid() == 1 else []
(escaped if any(int(s, 16) for s in sets[:3] + bounds) else held)(sets)
