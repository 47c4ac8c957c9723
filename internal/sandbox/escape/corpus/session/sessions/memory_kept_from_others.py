# tries: to leave another session without memory
# must: held: each has its own
before_the_bomb = "here"
# %% session b
hoard = []
while True:
    hoard.append(bytearray(8 << 20))
# %% session a
block = bytearray(32 << 20)
held(before_the_bomb)
