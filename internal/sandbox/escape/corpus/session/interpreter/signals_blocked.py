# tries: to block every signal
# must: killed: by the clock
import signal

signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))
while True:
    pass
