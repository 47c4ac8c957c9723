# tries: to learn from the sources of mounts where the user's home is, and so who the user is
# must: held: a mount shows what is at the same path outside, or names no path
from attempt import escaped, held

told = []
try:
    mounts = open("/proc/self/mountinfo").read().splitlines()
except OSError as error:
    held(error)
    raise SystemExit
for mount in mounts:
    fields = mount.split()
    root, point = fields[3].rstrip("/"), fields[4].rstrip("/")
    if not (point.endswith(root) or root.endswith(point) and point or root.startswith("/usr/")):
        told.append(root)
    told += [word for word in fields[5:] if any(place in word for place in ("/home/", "/root/", "/.cache/", "/Users/"))]
(escaped if told else held)("%d mounts: %s" % (len(mounts), told))
