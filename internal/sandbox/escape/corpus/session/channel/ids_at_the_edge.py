# tries: to number requests by the smallest and the largest integers
# must: held: answered by those numbers
answers = []
channel = guest("Channel")
for ident in (0, -1, -(1 << 63), (1 << 63) - 1):
    channel._waiting[ident] = answers.append
    send(calling("closed", ident=ident))
error, _ = ask("tools/call", server="closed", tool="x", arguments={})
limit = time.monotonic() + 20
while len(answers) < 4 and time.monotonic() < limit:
    time.sleep(0.01)
judge(len(answers) != 4 or any("result" in a for a in answers), "%d answers" % len(answers))
