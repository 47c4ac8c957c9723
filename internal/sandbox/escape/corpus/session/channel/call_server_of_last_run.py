# tries: to call a server that its own last run could call
# must: held: what is selected is each run's own
ask("tools/call", server="open", tool="x", arguments={})
held("it may")
# %% session a of -
error, answer = ask("tools/call", server="open", tool="x", arguments={})
judge("not available" not in str(error), error)
