# tries: to fill the caller's context by an error
# must: held: cut
held("cut")
raise ValueError("z" * (16 << 20))
