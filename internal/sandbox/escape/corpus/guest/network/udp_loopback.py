# tries: to send a datagram to the host
# must: held: no such sockets
import socket

from attempt import host, refused

refused(lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"ping", ("127.0.0.1", host.udpPort)))
