# tries: to use other transports
# must: held: EACCES
import socket

from attempt import escaped, held

made = []
for kind, protocol in ((1, 262), (1, 132), (5, 132), (2, 136), (6, 33)):
    try:
        socket.socket(socket.AF_INET, kind, protocol)
        made.append(protocol)
    except OSError:
        pass
(escaped if made else held)(made)
