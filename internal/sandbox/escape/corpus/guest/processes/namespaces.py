# tries: to find itself in a namespace of the host's
# must: held: each is the sandbox's own
import os

from attempt import escaped, held, host

shared = [name for name, link in host.namespaces.items() if os.readlink("/proc/self/ns/" + name) == link]
(escaped if shared else held)(shared)
