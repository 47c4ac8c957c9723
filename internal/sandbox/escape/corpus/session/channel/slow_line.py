# tries: to hold the channel by a line that grows by a byte now and then
# must: killed: by the clock; the deadline does not depend on it
send(b'{"jsonrpc":"2.0","method":"')
while True:
    send(b"x")
    time.sleep(0.01)
