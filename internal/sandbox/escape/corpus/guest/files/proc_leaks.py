# tries: to read about the machine in /proc
# must: held: nothing but its own processes is there
from attempt import escaped, held

found = []
for name in ("kcore kallsyms keys key-users config.gz timer_list cmdline modules kmsg sched_debug slabinfo "
             "sys/kernel/random/boot_id cpuinfo meminfo partitions diskstats interrupts version").split():
    try:
        if open("/proc/" + name, "rb").read(200):
            found.append(name)
    except OSError:
        pass
(escaped if found else held)(found)
