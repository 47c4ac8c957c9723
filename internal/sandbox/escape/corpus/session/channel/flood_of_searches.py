# tries: to drown codemode in questions that make it work
# must: held: a few at a time; the run goes on
pass
# %% tenant searching
lines = []
for i in range(1000):
    lines.append(message(id=2000000 + i, method="search", params={"query": "tool " * 100, "limit": 1 << 30}))
    lines.append(message(id=3000000 + i, method="server", params={"server": "closed", "load": False, "fresh": True}))
send(b"".join(lines))
held("it goes on")
