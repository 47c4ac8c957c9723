# tries: to exhaust codemode's stack by a message nested deeply
# must: killed: the session ends
send(b'{"jsonrpc":"2.0","method":"grease","params":{"a":' + b"[" * (8 << 20) + b"\n")
stay()
