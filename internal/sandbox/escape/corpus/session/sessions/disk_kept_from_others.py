# tries: to leave another session without disk
# must: held: each has its own
for name in ("/tmp/full", "/workspace/full"):
    try:
        with open(name, "wb", 0) as file:
            while file.write(bytes(1 << 20)):
                pass
    except OSError:
        pass
# %% session b
with open("/tmp/x", "wb") as file:
    file.write(bytes(1 << 20))
held("it has its own")
