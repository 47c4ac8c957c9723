# tries: to read packets
# must: held: EACCES
import socket

from attempt import refused

refused(lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0x0300))
