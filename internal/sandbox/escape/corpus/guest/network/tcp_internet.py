# tries: to reach the internet
# must: held: no such sockets
import socket

from attempt import refused

refused(lambda: socket.create_connection(("1.1.1.1", 80), 2))
