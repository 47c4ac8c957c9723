# tries: to leave processes by the C library, past everything Python would tell
# must: held: they end with the sandbox, and print into no other session
import ctypes

libc = ctypes.CDLL(None)
for _ in range(4):
    if libc.fork() == 0:
        libc.setsid()
        libc.usleep(900000)  # until the run is over that began it
        while True:
            libc.write(1, b'{"verdict": "escaped", "detail": "printed by a process of another run"}\n', 72)
            libc.usleep(20000)
# %% session b
time.sleep(1.5)
held("nothing arrived")
# %% tenant b
time.sleep(0.1)
held("nothing arrived")
