# tries: to end with a code that no number can hold
# must: held or killed: an error says so
held("refused")
send(b'{"jsonrpc":"2.0","id":%d,"result":{"status":"exit","exit":{"code":%b}}}\n' % (run_request()["id"], b"9" * 400))
stay()
