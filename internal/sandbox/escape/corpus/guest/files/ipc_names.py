# tries: to make a name that processes of the host could see, in a directory that is there for messages
# must: held: not mounted, or its own
import os

from attempt import escaped, held, host

made = []
for directory in ("/dev/mqueue", "/run", "/var/run", "/run/lock", "/var/tmp", host.home):
    try:
        os.close(os.open(directory + "/codemode-name", os.O_CREAT | os.O_RDWR, 0o666))
        made.append(directory)
    except OSError:
        pass
(escaped if made else held)(made)
