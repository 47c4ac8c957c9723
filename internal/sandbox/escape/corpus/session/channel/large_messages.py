# tries: to use codemode's memory by messages just below the limit
# must: held: one after the other
line = message(method="grease", params={"x": "y" * (16 << 20)})
for _ in range(3):
    send(line)
held("ignored")
