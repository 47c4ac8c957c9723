# tries: to listen on a port
# must: held: no such sockets
import socket

from attempt import refused

refused(lambda: socket.create_server(("127.0.0.1", 0)))
