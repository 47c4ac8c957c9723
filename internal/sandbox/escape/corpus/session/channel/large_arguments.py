# tries: to use codemode's memory by large calls at once
# must: held: the channel is not read on until some are answered
arguments = b'{"x":"' + b"y" * (8 << 20) + b'"}'
for i in range(5):
    head = b'{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"server":"closed","tool":"x","arguments":' % (600000 + i)
    send(head + arguments + b"}}\n")
error, _ = ask("tools/call", server="closed", tool="x", arguments={})
refused(error)
