# tries: to use the kernel's memory through larger socket buffers
# must: held: EPERM
import socket

from attempt import refused

refused(lambda: socket.socketpair()[0].setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20))
