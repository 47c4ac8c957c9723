# tries: to have terminals whose first end is closed, so that no folder lists them
# must: held or killed: none can be opened
import fcntl
import os
import struct
import time

from attempt import escaped, held

MOST, UNLOCK, NUMBER = 64, 0x40045431, 0x80045430  # TIOCSPTLCK, TIOCGPTN
ends = []
try:
    for _ in range(MOST * 2):
        first = os.open("/dev/ptmx", os.O_RDWR | os.O_NOCTTY)
        fcntl.ioctl(first, UNLOCK, struct.pack("i", 0))
        number = struct.unpack("i", fcntl.ioctl(first, NUMBER, bytes(4)))[0]
        ends.append(os.open("/dev/pts/%d" % number, os.O_RDWR | os.O_NOCTTY))
        os.close(first)
except OSError as error:
    held("%d terminals, then %s" % (len(ends), error))
if len(ends) > MOST:
    time.sleep(5)
    escaped("%d terminals" % len(ends))
