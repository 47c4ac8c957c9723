# tries: to find a part of its root that only the modes of files protect
# must: held: all of it is mounted read-only
import os
import sys

from attempt import escaped, held

places = ("/", "/etc", "/usr/bin", "/usr/lib", os.path.dirname(sys.executable), os.path.dirname(os.__file__))
writable = [p for p in places if os.path.isdir(p) and not os.statvfs(p).f_flag & os.ST_RDONLY]
(escaped if writable else held)(writable)
