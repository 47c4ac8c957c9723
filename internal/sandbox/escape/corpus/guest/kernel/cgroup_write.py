# tries: to change its own limits
# must: held: no cgroup is visible
import os

from attempt import escaped, held

found = []
for directory, _, files in os.walk("/sys/fs/cgroup"):
    for name in ("cgroup.procs", "release_agent", "memory.max", "memory.limit_in_bytes", "devices.allow"):
        if name in files and os.access(directory + "/" + name, os.W_OK):
            found.append(directory + "/" + name)
(escaped if found else held)(found[:5])
