# tries: to take memory while it is counted, which takes long of many busy processes that share much
# must: held or killed: at the limit
import os
import select
import time

from attempt import escaped, held, host

block = 4 << 20
shared = bytearray(b"x") * (host.memory * 6 // 10)
taken, tell = os.pipe()


def share():
    while True:
        pass


def take():
    blocks = []
    while True:
        blocks.append(bytearray(b"x") * block)
        os.write(tell, b".")


for child in [share] * 36 + [take] * 16:
    if os.fork() == 0:
        child()
total, end = len(shared), time.monotonic() + 8
while total < 2 * host.memory and time.monotonic() < end:
    if select.select([taken], [], [], 0.5)[0]:
        total += block * len(os.read(taken, 1000))
(escaped if total >= 2 * host.memory else held)("%d MB of %d" % (total >> 20, host.memory >> 20))
os._exit(0)
