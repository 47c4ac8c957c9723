# tries: to have sockets hold pages of files that are gone, a byte of each counted
# must: held: EINVAL
import errno
import os
import socket

from attempt import escaped, held, syscall, tmp

PAGE = 4096


def call(name, *args):
    result, code = syscall(name, *args)
    if result == -1:
        raise OSError(code, os.strerror(code))
    return result


def splice(file, target):
    """Moves a byte of each page of a file into a socket, by a pipe."""
    read, write = os.pipe()
    for page in range(16):
        os.lseek(file, page * PAGE, os.SEEK_SET)
        call("splice", file, None, write, None, 1, 0)
    return call("splice", read, None, target, None, 16, 0)


def tee(file, target):
    """Gives what one pipe holds to another, too."""
    (read, write), (_, other) = os.pipe(), os.pipe()
    os.write(write, b"x")
    return call("tee", read, other, 1, 0)


def sendfile(file, target):
    return sum(os.sendfile(target, file, page * PAGE, 1) for page in range(16))


with open(os.path.join(tmp, "pages"), "w+b", buffering=0) as file:
    file.write(b"x" * 16 * PAGE)
    ends = socket.socketpair()
    moved = {}
    for move in (splice, tee, sendfile):
        try:
            moved[move.__name__] = move(file.fileno(), ends[0].fileno())
        except OSError as error:
            if error.errno != errno.EINVAL:
                raise

if moved:
    escaped(moved)
else:
    held("EINVAL")
