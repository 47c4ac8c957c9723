# tries: to ask for what no guest may ask
# must: killed: the session ends
send(message(id=5, method="host/exec", params={"command": "id"}))
stay()
