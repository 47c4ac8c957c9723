# tries: to call a server that another session may call, and has called
# must: held: what is selected is each run's own
pass
# %% session b of closed
ask("tools/call", server="closed", tool="x", arguments={})
held("it may")
# %% session a
error, answer = ask("tools/call", server="closed", tool="x", arguments={})
judge("not available" not in str(error), error)
