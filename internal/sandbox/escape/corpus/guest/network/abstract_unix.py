# tries: to connect to an abstract socket of the host
# must: held: another network namespace
import socket

from attempt import host, refused

refused(lambda: socket.socket(socket.AF_UNIX).connect("\0" + host.abstract))
