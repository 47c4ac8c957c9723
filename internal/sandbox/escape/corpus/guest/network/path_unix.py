# tries: to connect to sockets of the host: an agent's, an engine's, a bus
# must: held: no such path
import socket

from attempt import escaped, held, host

connected = []
for path in (host.sock, "/var/run/docker.sock", "/run/podman/podman.sock", "/run/dbus/system_bus_socket"):
    try:
        socket.socket(socket.AF_UNIX).connect(path)
        connected.append(path)
    except OSError:
        pass
(escaped if connected else held)(connected)
