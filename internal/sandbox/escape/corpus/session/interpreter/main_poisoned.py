# tries: to leave names in __main__ for other sessions
# must: held: only its own session has them
left_behind = "poison"
__builtins__.left_behind = "poison"
# %% session b
judge("left_behind" in globals() or hasattr(__builtins__, "left_behind"), "not here")
