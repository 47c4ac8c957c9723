# tries: to use the kernel's memory through socket buffers in many processes
# must: held or killed: bounded
import os
import socket
import time

from attempt import escaped, measured

for _ in range(8):
    if os.fork() == 0:
        pairs = []
        try:
            while True:
                a, b = socket.socketpair()
                a.setblocking(False)
                pairs.append((a, b))
                try:
                    while True:
                        a.send(b"x" * 65536)
                except BlockingIOError:
                    pass
        except OSError:
            time.sleep(60)
        os._exit(len(pairs) & 1)
measured("started")
time.sleep(3)
escaped("1000 socket pairs are full")
