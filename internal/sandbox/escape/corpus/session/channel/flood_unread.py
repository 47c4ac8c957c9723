# tries: to make codemode hold answers that nobody reads
# must: held: bounded; the run ends all the same
params = {"server": "s" * 400, "tool": "t" * 400}
with guest("Reader")._turn:
    for start in range(0, 10000, 500):
        send(b"".join(message(id=4000000 + start + i, method="tools/call", params=params) for i in range(500)))
held("the run ends")
