# tries: to leave later runs in a directory that is gone
# must: held: they run
os.mkdir("gone")
os.chdir("gone")
os.rmdir("../gone")
# %% session a
held("it runs")
