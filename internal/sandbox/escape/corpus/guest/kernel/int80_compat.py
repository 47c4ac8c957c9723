# tries: to make calls by the numbers of 32-bit x86, which the filter would misread
# must: held: killed by the filter
import ctypes
import mmap
import os
import platform

from attempt import escaped, held

if platform.machine() != "x86_64":
    held("written for x86-64")
else:
    pid = os.fork()
    if pid == 0:
        code = mmap.mmap(-1, 4096, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, prot=7)
        code[0:8] = b"\xb8\x14\x00\x00\x00\xcd\x80\xc3"  # mov eax, 20 (getpid); int 0x80; ret
        ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(code)))()
        os._exit(0)
    _, status = os.waitpid(pid, 0)
    (held if os.WIFSIGNALED(status) else escaped)("status %#x" % status)
