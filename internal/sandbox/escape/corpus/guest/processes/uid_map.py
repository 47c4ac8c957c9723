# tries: to learn the number of the user outside
# must: measured: the kernel says it to who is in a namespace of that user's making
import os

from attempt import held, measured

outside = {line.split()[1] for name in ("uid_map", "gid_map") for line in open("/proc/self/" + name)}
(held if outside == {str(os.getuid())} else measured)(", ".join(outside))
