# tries: to mix half messages of its own with those of the guest
# must: killed: the session ends
send(b'{"jsonrpc":"2.0","method":"out')
print("a line of the guest's lands in the middle", flush=True)
stay()
