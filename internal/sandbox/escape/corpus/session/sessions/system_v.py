# tries: to share memory with another session by a System V key
# must: held: refused, or each sandbox's own
import ctypes

IPC_CREAT, KEY = 0o1000, 0x636F6465
libc = ctypes.CDLL(None, use_errno=True)
segment = libc.shmget(KEY, 4096, IPC_CREAT | 0o666)
held("made" if segment >= 0 else os.strerror(ctypes.get_errno()))
# %% session b
import ctypes

segment = ctypes.CDLL(None, use_errno=True).shmget(0x636F6465, 4096, 0o666)
judge(segment >= 0, "not there")
