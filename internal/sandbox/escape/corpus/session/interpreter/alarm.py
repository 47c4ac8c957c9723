# tries: to have a signal strike codemode's own code between two runs
# must: held: timers end with the run
import signal

came = []
signal.signal(signal.SIGALRM, lambda *args: came.append(1))
signal.setitimer(signal.ITIMER_REAL, 0.01)
time.sleep(0.2)
if not came:
    escaped("no timer comes at all")
signal.signal(signal.SIGALRM, lambda *args: os._exit(9))
signal.setitimer(signal.ITIMER_REAL, 0.3, 0.3)
# %% session a
time.sleep(1)
if came:
    held("no timer")
