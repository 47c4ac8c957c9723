# tries: to send a message behind a byte order mark
# must: killed: the session ends
send(b"\xef\xbb\xbf" + message(method="grease", params={}))
stay()
