# tries: to block and to watch others by leases and notices on files of the cache
# must: held: EPERM
import fcntl
import os

from attempt import escaped, held

granted = []
for path, command, value in (
    (os.__file__, 1024, fcntl.F_RDLCK),  # F_SETLEASE
    (__file__, 1024, fcntl.F_RDLCK),
    (os.path.dirname(os.__file__), 1026, 1),  # F_NOTIFY, DN_ACCESS
):
    try:
        fcntl.fcntl(os.open(path, os.O_RDONLY), command, value)
        granted.append((path, command))
    except OSError:
        pass
(escaped if granted else held)("granted: %s" % granted)
