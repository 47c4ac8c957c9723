# tries: to call a server that was not selected for the run
# must: held: refused by name, and not started
error, answer = ask("tools/call", server="closed", tool="x", arguments={})
refused(error, answer)
