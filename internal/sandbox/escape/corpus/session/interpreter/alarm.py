# tries: to have a signal strike codemode's own code between two runs
# must: held: timers end with the run
import signal

signal.signal(signal.SIGALRM, lambda *args: os._exit(9))
signal.setitimer(signal.ITIMER_REAL, 0.3, 0.3)
# %% session a
time.sleep(1)
held("no timer")
