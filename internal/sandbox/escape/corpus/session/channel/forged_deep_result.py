# tries: to hand the client a value that it cannot parse
# must: held or killed: deep values travel as their repr
depth = 5000
held_first("its repr is sent")
line = b'{"jsonrpc":"2.0","id":%d,"result":{"status":"ok","value":{"repr":"deep","json":%b1%b}}}\n'
send(line % (run_request()["id"], b"[" * depth, b"]" * depth))
stay()
