import posix, select, sys
from _socket import AF_UNIX, CMSG_SPACE, SOCK_STREAM, socket
listener = socket(AF_UNIX, SOCK_STREAM)
listener.bind("\0codemode")
listener.listen(1)
if not select.select([listener], [], [], None if sys.argv[2:] else 600)[0]:
    sys.exit("codemode: nobody came")
peer = socket(fileno=listener._accept()[0])
listener.close()
given = peer.recvmsg(1, CMSG_SPACE(12))[1][0][2]
peer.detach()  # open until this process ends, whatever becomes of the name
for n in range(3):
    fd = int.from_bytes(given[4 * n : 4 * n + 4], sys.byteorder)
    posix.dup2(fd, n)
    posix.close(fd)
code = sys.argv[1]
sys.argv[1:] = ["0"]
exec(code)
