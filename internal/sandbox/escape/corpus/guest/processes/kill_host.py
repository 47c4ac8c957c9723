# tries: to signal a process of the host by its number there
# must: held: no such process
import os
import signal

from attempt import host, refused

refused(lambda: os.kill(host.pid, signal.SIGTERM))
