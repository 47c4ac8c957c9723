# tries: to connect to a server on the host
# must: held: no such sockets
import socket

from attempt import host, refused

refused(lambda: socket.create_connection(("127.0.0.1", host.port), 2))
