# tries: to end with a code that no number can hold
# must: killed: what cannot be read ends the session
send(b'{"jsonrpc":"2.0","id":%d,"result":{"status":"exit","exit":{"code":%b}}}\n' % (run_request()["id"], b"9" * 400))
stay()
