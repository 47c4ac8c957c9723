# tries: to send parameters by position
# must: killed: the session ends
send(message(id=5, method="tools/call", params=["open", "x"]))
stay()
