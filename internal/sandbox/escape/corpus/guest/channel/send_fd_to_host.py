# tries: to exhaust codemode's descriptors by sending it some over the channel
# must: held: codemode reads bytes and takes no descriptors
import array
import os
import socket

from attempt import channel, held

with socket.socket(fileno=os.dup(channel)) as sock:
    fds = array.array("i", [os.open("/dev/null", os.O_RDONLY)] * 16)
    try:
        for _ in range(8):
            sock.sendmsg([b"\n"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, fds)])
        held("sent")
    except OSError as error:
        held(error)
