# tries: to ask a cloud's metadata service for credentials
# must: held: no such sockets
import socket

from attempt import refused

refused(lambda: socket.create_connection(("169.254.169.254", 80), 2))
