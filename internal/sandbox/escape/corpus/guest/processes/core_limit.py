# tries: to hand its memory to whoever collects core dumps outside: a crash with a limit that a handler would ignore
# must: held: the limit is 1, which alone keeps a piped handler out (core(5)), and cannot be changed
import ctypes
import os
import resource

from attempt import escaped, held

libc = ctypes.CDLL(None, use_errno=True)
changed = []
for soft, hard in ((0, 0), (0, 1)):
    try:
        resource.setrlimit(resource.RLIMIT_CORE, (soft, hard))
        changed.append((soft, hard))
    except (ValueError, OSError):
        pass
    pair = (ctypes.c_ulong * 2)(soft, hard)
    for number in {"x86_64": (160,), "aarch64": (164,)}[os.uname().machine]:
        if libc.syscall(number, resource.RLIMIT_CORE, pair) == 0:
            changed.append(number)
now = resource.getrlimit(resource.RLIMIT_CORE)
(held if now == (1, 1) and not changed else escaped)((now, changed))
