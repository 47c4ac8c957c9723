# tries: to call a server that does not start, a thousand times at once
# must: held: each call fails, and the starts are not as many
calls = [calling("open", ident=900000 + i) for i in range(1000)]
answers = []
channel = guest("Channel")
for i in range(1000):
    channel._waiting[900000 + i] = answers.append
send(*calls)
limit = time.monotonic() + 30
while len(answers) < 1000 and time.monotonic() < limit:
    time.sleep(0.01)
judge(len(answers) < 1000 or any("result" in a for a in answers), "%d answers" % len(answers))
