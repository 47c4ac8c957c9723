# tries: to fill logs and errors by the name of a method
# must: held: ignored as a notification
send(message(method="\x1b[2J" * (1 << 18), params={}))
held("ignored")
