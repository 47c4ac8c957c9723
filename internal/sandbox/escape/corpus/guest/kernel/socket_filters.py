# tries: to use up the machine's room for compiled filters by filters on sockets
# must: held: EPERM, or ENOSYS
import ctypes
import errno
import socket
import struct

from attempt import refused

SO_ATTACH_FILTER, SO_ATTACH_BPF, SO_ATTACH_REUSEPORT_CBPF, SO_ATTACH_REUSEPORT_EBPF = 26, 50, 51, 52

program = ctypes.create_string_buffer(struct.pack("HBBI", 0x06, 0, 0, 0xFFFFFFFF))  # to accept all
filter_of_one = struct.pack("HP", 1, ctypes.addressof(program))


def attach():
    a, _ = socket.socketpair()
    for option, value in (
        (SO_ATTACH_FILTER, filter_of_one),
        (SO_ATTACH_REUSEPORT_CBPF, filter_of_one),
        (SO_ATTACH_BPF, 3),
        (SO_ATTACH_REUSEPORT_EBPF, 3),
    ):
        try:
            a.setsockopt(socket.SOL_SOCKET, option, value)
        except OSError as error:
            if error.errno not in (errno.EPERM, errno.ENOSYS):
                return option  # the kernel has looked at it
            no = error
        else:
            return option
    raise no


refused(attach)
