# tries: to exhaust the stack of whoever decodes a call's arguments
# must: held: refused, or answered
deep = b'{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"server":"closed","tool":"x","arguments":%b1%b}}\n'
for i, depth in enumerate((100, 5000, 9990)):
    send(deep % (1 << 40 | i, b'{"a":' * depth, b"}" * depth))
error, _ = ask("tools/call", server="closed", tool="x", arguments={})
refused(error)
