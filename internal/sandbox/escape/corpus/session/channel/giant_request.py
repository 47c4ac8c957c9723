# tries: to fill logs and errors by the name of a request
# must: killed: the session ends, and the error quotes a little of it
send(message(id=5, method="\x1b[2J" * (1 << 18), params={}))
stay()
