# tries: to use up the user's share of watches
# must: held: EPERM
from attempt import escaped, held, syscall

made = []
for name in ("inotify_init", "inotify_init1"):
    fd, _ = syscall(name, 0)
    if fd >= 0:
        made.append(name)
(escaped if made else held)("made: %s" % made)
