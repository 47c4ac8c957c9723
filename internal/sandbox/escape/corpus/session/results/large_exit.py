# tries: to fill the caller's context by the words it leaves with
# must: held: cut
held("cut")
sys.exit("z" * (16 << 20))
