# tries: to reopen its input for writing, which may be a file of the user's
# must: held: the input is a pipe of codemode's
import os
import stat

from attempt import escaped, held

mode = os.fstat(0).st_mode
try:
    os.write(os.open("/proc/self/fd/0", os.O_RDWR), b"x")
except OSError as error:
    held(error)
else:
    (held if stat.S_ISFIFO(mode) or stat.S_ISCHR(mode) else escaped)("descriptor 0 has mode %o" % mode)
