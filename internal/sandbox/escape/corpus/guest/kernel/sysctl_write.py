# tries: to change settings of the kernel
# must: held: no such file, or EACCES
from attempt import escaped, held

written = []
for name in ("kernel/core_pattern", "kernel/hostname", "vm/overcommit_memory", "user/max_user_namespaces", "net/ipv4/ip_forward"):
    try:
        open("/proc/sys/" + name, "w").write("1")
        written.append(name)
    except OSError:
        pass
(escaped if written else held)(written)
