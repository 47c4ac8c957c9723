# tries: to reach the hypervisor; vsock knows no namespaces, and on WSL2 starts Windows programs
# must: held: EACCES
import socket

from attempt import refused

refused(lambda: socket.socket(40, socket.SOCK_STREAM))
