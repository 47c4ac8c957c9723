# tries: to use the kernel's memory through pipes
# must: measured or killed: bounded by the number of descriptors and by the user's share, which its neighbours may have used up
import fcntl
import os

from attempt import measured

held_bytes, pipes = 0, []
try:
    while True:
        r, w = os.pipe()
        os.set_blocking(w, False)
        pipes.append((r, w))
        try:
            fcntl.fcntl(w, 1031, 1 << 20)  # F_SETPIPE_SZ
        except OSError:
            pass
        try:
            while True:
                held_bytes += os.write(w, b"x" * 65536)
        except BlockingIOError:
            pass
except OSError as error:
    measured("%d pipes hold %d MB, then %s" % (len(pipes), held_bytes >> 20, error))
