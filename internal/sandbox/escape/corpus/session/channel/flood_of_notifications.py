# tries: to drown codemode in news
# must: held: ignored
line = message(method="cancel", params={"id": 12345}) + message(method="grease", params={"x": 1})
for _ in range(50):
    send(line * 1000)
held("ignored")
