# tries: to give a member twice, which parsers understand differently
# must: killed: the session ends
send(b'{"jsonrpc":"2.0","id":7,"method":"tools/call","method":"grease","params":{}}\n')
stay()
