# tries: to share memory with another session by a name
# must: held: names are each sandbox's own
import ctypes

libc = ctypes.CDLL(None, use_errno=True)
fd = libc.shm_open(b"/codemode-door", os.O_CREAT | os.O_RDWR, 0o666)
held("made" if fd >= 0 else os.strerror(ctypes.get_errno()))
# %% session b
import ctypes

libc = ctypes.CDLL(None, use_errno=True)
fd = libc.shm_open(b"/codemode-door", os.O_RDWR, 0o666)
judge(fd >= 0, os.strerror(ctypes.get_errno()))
