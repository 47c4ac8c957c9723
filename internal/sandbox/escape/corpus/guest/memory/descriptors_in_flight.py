# tries: to keep descriptors in flight between two sockets, where no limit of a process counts them and others of the user fail
# must: held: EPERM
import array
import os
import socket

from attempt import escaped, held

sent, pairs = 0, []
try:
    while sent < 1000:
        a, b = socket.socketpair()
        pairs.append((a, b))
        for pipe in range(16):
            ends = os.pipe()
            a.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", ends))])
            sent += 2
            os.close(ends[0])
            os.close(ends[1])
    escaped("%d in flight" % sent)
except OSError as error:
    (escaped if sent else held)("%d in flight, then %s" % (sent, error))
