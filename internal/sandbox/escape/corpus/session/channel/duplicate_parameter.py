# tries: to name two servers in one call, one that may be called and one that may not
# must: held: neither guards nor the call see another one than the other
send(b'{"jsonrpc":"2.0","id":70001,"method":"tools/call","params":{"server":"open","server":"closed","tool":"x"}}\n')
send(b'{"jsonrpc":"2.0","id":70002,"method":"tools/call","params":{"Server":"closed","tool":"x"}}\n')
send(b'{"jsonrpc":"2.0","id":70003,"method":"tools/call","params":{"server":"open","SERVER":"closed","tool":"x"}}\n')
error, _ = ask("tools/call", server="closed", tool="x", arguments={})
refused(error)
