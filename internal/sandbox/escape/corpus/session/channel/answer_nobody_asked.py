# tries: to answer a request that the host never made
# must: killed: the session ends
send(message(id=99, result={}))
stay()
