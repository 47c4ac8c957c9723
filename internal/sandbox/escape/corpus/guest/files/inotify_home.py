# tries: to watch a directory of the user's
# must: held: EPERM
from attempt import held, host, refused_call, syscall

fd, _ = syscall("inotify_init1", 0)
if fd < 0:
    held("no inotify")
else:
    refused_call("inotify_add_watch", fd, (host.home + "/.ssh").encode(), 0xFFF)
