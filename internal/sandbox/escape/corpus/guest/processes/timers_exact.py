# tries: to have a timer fire to the microsecond, and with many of them hold up all of the machine
# must: held: refused: the guest's Python has another timer, which fires late
import ctypes
import errno

from attempt import escaped, held, syscall

soon = (ctypes.c_long * 4)(0, 200, 0, 200)
word = ctypes.byref(ctypes.c_uint32(0))
got = {
    "setitimer": syscall("setitimer", 0, soon, None),
    "setitimer, which kernels take for 0": syscall("setitimer", 1 << 32, soon, None),
    "timer_create": syscall("timer_create", 1, None, ctypes.create_string_buffer(8)),
    "timerfd_create": syscall("timerfd_create", 1, 0),
    "FUTEX_LOCK_PI": syscall("futex", word, 6, 0, soon, None, 0),
    "FUTEX_LOCK_PI2 of a process": syscall("futex", word, 13 | 128, 0, soon, None, 0),
}
if syscall("futex_waitv", None, 0, 0, None, 1)[1] == errno.EINVAL:
    got["futex_waitv"] = 0, 0
there = [name for name, (result, _) in got.items() if result != -1]
(escaped if there else held)(", ".join(there) or "no timer")
