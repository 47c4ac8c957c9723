import sys
from posix import read
lost = "codemode: no channel"
fd = sys.argv[1]
if fd[0] == "/":
    from _socket import socket
    channel = socket(1)
    try:
        channel.connect(fd)
    except OSError:
        sys.exit(lost)
    fd = channel.detach()
fd = int(fd)
def take(size):
    data = b""
    while len(data) < size:
        try:
            more = read(fd, size - len(data))
        except OSError:
            more = b""
        if not more:
            sys.exit(lost)
        data += more
    return data
def field():
    return take(int(take(8), 16))
exec(compile(field(), "init.py", "exec"))
exec(start())
