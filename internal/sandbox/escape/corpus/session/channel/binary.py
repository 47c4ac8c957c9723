# tries: to send bytes that are no text
# must: killed: the session ends
send(bytes(range(256)) * 64 + b"\n")
stay()
