# tries: to press the machine's emergency keys
# must: held: no such file, or EACCES
from attempt import refused

refused(lambda: open("/proc/sysrq-trigger", "w").write("h"))
