# tries: to write to what is mounted from the machine's disk, as a pod's termination log and an image's volumes are
# must: held: read-only, or not for this user
import os

from attempt import escaped, held

written, others = [], []
for line in open("/proc/self/mountinfo"):
    before, _, after = line.partition(" - ")
    place = before.split()[4].encode().decode("unicode_escape")
    if not after.split()[1].startswith("/"):  # no device: it is in memory, or of the kernel
        continue
    try:
        if os.path.isdir(place):
            made = place + "/escape-%d" % os.getpid()
            os.close(os.open(made, os.O_CREAT | os.O_WRONLY))
            os.unlink(made)
        else:
            os.close(os.open(place, os.O_WRONLY))
        written.append(place)
    except OSError as error:
        others.append("%s: %s" % (place, error.strerror))
(escaped if written else held)("%s; not %s" % (written, others))
