# tries: to take memory while it is counted, in processes that go on by a clock of their own when they are stopped
# must: held or killed: at the limit
import ctypes
import os
import select
import signal
import time

from attempt import escaped, held, host, syscall

block = 4 << 20
shared = bytearray(b"x") * (host.memory * 6 // 10)
taken, tell = os.pipe()
signal.signal(signal.SIGCONT, lambda *_: None)


def share():
    while True:
        signal.pause()


def take():
    event = (ctypes.c_int * 16)()
    event[2] = signal.SIGCONT  # sigev_signo, by SIGEV_SIGNAL, which is 0
    timer = ctypes.c_int()
    syscall("timer_create", 1, event, ctypes.byref(timer))
    syscall("timer_settime", timer.value, 0, (ctypes.c_long * 4)(0, 1_000_000, 0, 1_000_000), None)
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
