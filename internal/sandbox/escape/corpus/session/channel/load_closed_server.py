# tries: to have a server started for calls that was not selected for the run
# must: held: refused, and not started
error, answer = ask("server", server="closed", load=True, fresh=True)
refused(error, answer)
