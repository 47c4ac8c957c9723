# tries: to exhaust codemode's stack by deep values in members that nobody reads
# must: held or killed: bounded
deep = b"[" * 500000 + b"]" * 500000
held("ignored")
send(b'{"jsonrpc": "2.0", "method": "nobody/listens", "params": {"x": ' + deep + b"}}\n")
