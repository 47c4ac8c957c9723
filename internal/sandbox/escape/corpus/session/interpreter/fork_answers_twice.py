# tries: to come out of a run twice, by a fork
# must: held or killed: the child has no channel; what it takes, ends the session
box = guest("Outbox")
spare = os.dup(box._fd)
if os.fork() == 0:
    guest("Outbox")._fd = spare
held("one result")
