# tries: to make one file larger than the policy allows
# must: held: EFBIG, or ENOSPC first
import os
import signal

from attempt import host, refused, work

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
file = os.open(work + "/large", os.O_CREAT | os.O_WRONLY)
refused(lambda: os.pwrite(file, b"x" * 4096, host.fileSize))
