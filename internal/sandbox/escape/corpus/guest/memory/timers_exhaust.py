# tries: to use the kernel's memory for timers
# must: held: ENOSYS
import ctypes

from attempt import escaped, held, syscall

n = 0
while n < 100000:
    result, code = syscall("timer_create", 0, 0, ctypes.create_string_buffer(8))
    if result < 0:
        break
    n += 1
(escaped if n > 1000 else held)("%d timers, then errno %d" % (n, code))
