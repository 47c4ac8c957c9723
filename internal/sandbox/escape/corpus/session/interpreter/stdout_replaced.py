# tries: to leave later runs an output that fails
# must: held: they have their own again
class Output:
    def write(self, text):
        raise SystemExit("poisoned")

    flush = close = write


sys.stdout = sys.__stdout__ = sys.stderr = sys.__stderr__ = Output()
# %% session a
print("back")
held("back")
