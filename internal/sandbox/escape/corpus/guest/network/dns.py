# tries: to resolve a name
# must: held: gaierror
import socket

from attempt import refused

refused(lambda: socket.getaddrinfo("example.com", 80))
