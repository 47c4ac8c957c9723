# tries: to receive a descriptor from codemode over the channel
# must: held: none is ever sent
import os
import socket

from attempt import channel, escaped, held

with socket.socket(fileno=os.dup(channel)) as sock:
    try:
        _, ancillary, _, _ = sock.recvmsg(1, socket.CMSG_SPACE(64), socket.MSG_DONTWAIT)
        (escaped if ancillary else held)(ancillary)
    except OSError as error:
        held(error)
