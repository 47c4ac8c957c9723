# tries: to give a member twice, once by escapes
# must: killed: the session ends
send(b'{"jsonrpc":"2.0","method":"grease","\\u006dethod":"tools/call","params":{}}\n')
stay()
