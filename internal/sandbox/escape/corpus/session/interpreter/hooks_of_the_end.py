# tries: to be called where errors are shown
# must: held or killed: the run is told as it ended, and the session goes on
import threading


def hook(*args):
    while True:
        raise SystemExit(0)


sys.excepthook = sys.unraisablehook = sys.displayhook = threading.excepthook = sys.breakpointhook = hook
held("the error is told")
raise ValueError("\x1b[2J")
# %% session a
held("it goes on")
