# tries: to fill the caller's context by output
# must: held: head and tail
print("x" * (8 << 20))
for i in range(100000):
    print(i, file=sys.stderr)
held("cut")
