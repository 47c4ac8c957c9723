# tries: to connect over IPv6
# must: held: no such sockets
import socket

from attempt import host, refused

refused(lambda: socket.create_connection(("::1", host.port), 2))
