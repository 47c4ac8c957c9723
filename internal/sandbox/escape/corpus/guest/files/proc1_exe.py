# tries: to open the binary of the first process for writing (CVE-2019-5736)
# must: held: no writable descriptor of a host binary
from attempt import refused

refused(lambda: open("/proc/1/exe", "r+b"))
