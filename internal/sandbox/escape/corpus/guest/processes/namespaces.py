# tries: to find itself in a namespace of the host's
# must: held: each is the sandbox's own
import os

from attempt import escaped, held, host

shared = []
for name, link in host.namespaces.items():
    try:
        if os.readlink("/proc/self/ns/" + name) == link:
            shared.append(name)
    except OSError:
        pass  # no /proc, which others look into
(escaped if shared else held)(shared)
