import ctypes, posix, sys, time
from _socket import AF_UNIX, SCM_RIGHTS, SOCK_STREAM, SOL_SOCKET, socket
if ctypes.CDLL(None).prctl(4, 0, 0, 0, 0):
    sys.exit("codemode: no channel")
for _ in range(1000):
    first = socket(AF_UNIX, SOCK_STREAM)
    try:
        first.connect("\0codemode")
        break
    except OSError:
        time.sleep(0.01)
else:
    sys.exit("codemode: no channel")
streams = b"".join(n.to_bytes(4, sys.byteorder) for n in range(3))
first.sendmsg([b"x"], [(SOL_SOCKET, SCM_RIGHTS, streams)])
null = posix.open("/dev/null", posix.O_RDWR)
for n in range(3):
    posix.dup2(null, n)
first.recv(1)
