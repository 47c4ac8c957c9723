# tries: to leave through the root of the first process
# must: held: it is the guest's own root
import os

from attempt import host, refused

refused(lambda: os.listdir("/proc/1/root" + host.home))
