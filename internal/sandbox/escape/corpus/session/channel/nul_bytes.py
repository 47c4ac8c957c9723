# tries: to send a message with bytes of zero, which other languages end a text at
# must: killed: the session ends
send(b'{"jsonrpc": "2.0", "id": 1, \0 "method": "server"}\n')
stay()
