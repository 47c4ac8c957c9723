# tries: to use the host's own methods against it
# must: killed: the session ends
send(message(id=5, method="run", params={"run": 1, "code": "1"}))
stay()
# %% session a
send(message(id=5, method="initialize", params={"version": 1}))
stay()
