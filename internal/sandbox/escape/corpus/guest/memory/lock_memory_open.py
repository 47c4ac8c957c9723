# tries: to lock parts of a file for the open file itself, which no process then has in its name
# must: held: refused
import fcntl
import os
import struct

from attempt import refused, work

SET_LOCK_OF_OPEN_FILE = 37  # F_OFD_SETLK
file = os.open(work + "/locked", os.O_RDWR | os.O_CREAT)
lock = struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 0, 1, 0)
refused(lambda: fcntl.fcntl(file, SET_LOCK_OF_OPEN_FILE, lock))
