# tries: to write packets
# must: held: EACCES
import socket

from attempt import refused

refused(lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1))
