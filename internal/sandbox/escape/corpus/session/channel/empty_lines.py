# tries: to send nothing, often
# must: killed: the session ends at the first line
send(b"\n" * 100000)
stay()
