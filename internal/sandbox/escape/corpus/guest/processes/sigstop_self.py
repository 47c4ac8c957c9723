# tries: to hang where no code runs
# must: killed: by the clock
import os
import signal
import time

os.kill(os.getpid(), signal.SIGSTOP)
time.sleep(60)
