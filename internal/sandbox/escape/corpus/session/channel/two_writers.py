# tries: to have a child process speak on the channel, too
# must: killed: what it breaks ends the session
spare = os.dup(guest("Outbox")._fd)
if os.fork() == 0:
    os.write(spare, b"{not a message}\n")
stay()
