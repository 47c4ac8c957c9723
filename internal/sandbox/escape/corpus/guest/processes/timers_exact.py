# tries: to have a timer fire to the microsecond, and with many of them hold up all of the machine
# must: held: refused: the guest's Python has another timer, which fires late
import ctypes

from attempt import escaped, held, syscall

soon = (ctypes.c_long * 4)(0, 200, 0, 200)
got = {
    "setitimer": syscall("setitimer", 0, soon, None),
    "setitimer, which kernels take for 0": syscall("setitimer", 1 << 32, soon, None),
    "timer_create": syscall("timer_create", 1, None, ctypes.create_string_buffer(8)),
    "timerfd_create": syscall("timerfd_create", 1, 0),
}
there = [name for name, (result, _) in got.items() if result != -1]
(escaped if there else held)(", ".join(there) or "no timer")
