# tries: to have all threads start others at once, with hardly any stack
# must: held: fewer than twice as many as it may
import ctypes
import os
import threading

from attempt import escaped, held, host

libc = ctypes.CDLL(None)
attributes = ctypes.create_string_buffer(64)
libc.pthread_attr_init(attributes)
libc.pthread_attr_setstacksize(attributes, ctypes.c_size_t(16 << 10))
wait = ctypes.cast(libc.pause, ctypes.c_void_p)
enough = 20 * host.processes
made = [0] * 8
begin = threading.Barrier(len(made))


def start(i):
    begin.wait()
    thread = ctypes.c_ulong()
    for _ in range(2 * enough):
        if libc.pthread_create(ctypes.byref(thread), attributes, wait, None) == 0:
            made[i] += 1
        if sum(made) > enough:
            return


starters = [threading.Thread(target=start, args=(i,)) for i in range(len(made))]
for s in starters:
    s.start()
for s in starters:
    s.join()
(held if sum(made) < 2 * host.processes else escaped)("%d threads at once" % sum(made))
os._exit(0)
