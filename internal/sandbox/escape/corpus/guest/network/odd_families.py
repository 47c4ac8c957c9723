# tries: to make sockets of rarely tested families
# must: held: EACCES for all
import socket

from attempt import escaped, held

made = []
for family in range(2, 46):
    for kind in (1, 2, 3, 5):
        try:
            socket.socket(family, kind, 0).close()
            made.append(family)
        except OSError:
            pass
(escaped if made else held)("families %s" % made)
