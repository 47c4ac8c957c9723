# tries: to answer the first message of the session a second time
# must: killed: the session ends
send(message(id=1, result={"version": 1, "python": "0"}))
stay()
