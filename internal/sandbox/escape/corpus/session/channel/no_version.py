# tries: to leave out the version of JSON-RPC
# must: killed: the session ends
send(b'{"method":"grease","params":{}}\n')
stay()
