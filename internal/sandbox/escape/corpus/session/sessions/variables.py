# tries: to read another session's variables by their names
# must: held: each has an interpreter of its own
door = "open"
# %% session b
judge("door" in globals(), "not here")
# %% tenant b
judge("door" in globals(), "not here")
