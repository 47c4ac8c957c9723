# tries: to leave datagrams in the memory of the kernel, whose senders have closed their sockets
# must: held: EACCES
import socket

from attempt import refused


def left(receiver, sender):
    receiver.bind("/tmp/datagrams_left")
    sender.sendto(b"x" * 100_000, "/tmp/datagrams_left")
    sender.close()
    return receiver.recv(1)


refused(lambda: left(*(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) for _ in range(2))))
