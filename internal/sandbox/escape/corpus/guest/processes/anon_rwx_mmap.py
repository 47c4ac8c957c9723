# tries: to run machine code in its own process
# must: measured: native code in the process is assumed
import ctypes
import mmap
import platform

from attempt import held, measured

if platform.machine() != "x86_64":
    held("written for x86-64")
else:
    code = mmap.mmap(-1, 4096, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, prot=7)
    code[0:6] = b"\xb8\x2a\x00\x00\x00\xc3"  # mov eax, 42; ret
    call = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(code)))
    measured("machine code returned %d" % call())
