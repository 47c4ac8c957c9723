# tries: to send a line that is no JSON
# must: killed: the session ends
send(b"hello\n")
stay()
