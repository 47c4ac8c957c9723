# tries: to talk to the kernel's network code
# must: held: EACCES
import socket

from attempt import refused

refused(lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0))
