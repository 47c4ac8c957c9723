# tries: to turn a socket pair towards a socket of the host
# must: held: no such path
import socket

from attempt import host, refused

refused(lambda: socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)[0].sendto(b"x", host.sock))
