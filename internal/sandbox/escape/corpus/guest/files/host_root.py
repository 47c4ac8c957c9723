# tries: to find any directory of the host beside those of the system
# must: held: only what its root is made of
import os

from attempt import escaped, held

own = set("bin boot codemode dev etc lib lib32 lib64 libx32 media mnt nix opt proc root run sbin srv sys tmp usr var workspace home".split())
names = set(os.listdir("/")) - own - {".dockerenv"}
users = [name for d in ("/home", "/root", "/mnt", "/media", "/srv") if os.path.isdir(d) and os.access(d, os.R_OK) for name in os.listdir(d)]
(escaped if names or users else held)((sorted(names), users))
