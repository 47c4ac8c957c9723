# tries: to write a core file
# must: held: none
import os
import signal

from attempt import escaped, held

pid = os.fork()
if pid == 0:
    os.kill(os.getpid(), signal.SIGSEGV)
    os._exit(0)
_, status = os.waitpid(pid, 0)
(escaped if os.WCOREDUMP(status) else held)("status %#x" % status)
