# tries: to use up the pages of pipes that all processes of the user outside share
# must: held or killed: a pipe cannot be made larger, and who holds many pipes is killed
import fcntl
import os
import signal
import time

from attempt import escaped, held

SET_SIZE, GET_SIZE = 1031, 1032


def hoard():
    """Keeps one end of as many pipes as there are descriptors."""
    while True:
        try:
            r, w = os.pipe()
            os.close(w)
        except OSError:
            signal.pause()


r, w = os.pipe()
try:
    fcntl.fcntl(w, SET_SIZE, 1 << 20)
    escaped("a pipe of %d bytes" % fcntl.fcntl(w, GET_SIZE))
except OSError as error:
    children = []
    try:
        while len(children) < 40:
            pid = os.fork()
            if pid == 0:
                hoard()
            children.append(pid)
    except OSError:
        pass
    time.sleep(6)
    size = fcntl.fcntl(os.pipe()[0], GET_SIZE)
    (escaped if size < 16 * os.sysconf("SC_PAGE_SIZE") else held)("%s; %d children, then a pipe of %d bytes" % (error, len(children), size))
