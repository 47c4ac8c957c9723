# tries: to have programs that wait for a word of a file wait for another, where the file can only be read
# must: held: EPERM
import ctypes
import mmap
import os

from attempt import refused_call

REQUEUE = 3
file = os.open(os.__file__, os.O_RDONLY)
mapping = mmap.mmap(file, mmap.PAGESIZE, flags=mmap.MAP_SHARED, prot=mmap.PROT_READ)
_libc = ctypes.CDLL(None)
_libc.mmap.restype, _libc.mmap.argtypes = ctypes.c_void_p, [ctypes.c_void_p] + [ctypes.c_long] * 5
word = _libc.mmap(None, mmap.PAGESIZE, mmap.PROT_READ, mmap.MAP_SHARED, file, 0)
refused_call("futex", word, REQUEUE, 0, 1000, word + 64, 0)
