# tries: to fill codemode's memory with a line without an end
# must: killed: the session ends at the largest message
piece = b"x" * (1 << 20)
send(b'{"jsonrpc":"2.0","method":"')
for _ in range(256):
    send(piece)
stay()
