# tries: to fill the caller's context by a value
# must: held: cut
held("cut")
{"x" * 1000 + str(i): ["y" * 1000] * 100 for i in range(50)}
