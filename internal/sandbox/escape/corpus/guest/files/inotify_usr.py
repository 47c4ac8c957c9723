# tries: to watch what programs of the host open
# must: held: EPERM
from attempt import held, refused_call, syscall

fd, _ = syscall("inotify_init1", 0)
if fd < 0:
    held("no inotify")
else:
    refused_call("inotify_add_watch", fd, b"/usr/bin", 0xFFF)
