# tries: to send several messages as a list
# must: killed: the session ends
send(b"[" + calling("closed", ident=5)[:-1] + b"]\n")
stay()
