# tries: to see the host's processes
# must: held: only its own
import os

from attempt import escaped, held

seen = [pid for pid in (os.listdir("/proc") if os.path.isdir("/proc") else []) if pid.isdigit()]
(escaped if len(seen) > 20 else held)(seen)
