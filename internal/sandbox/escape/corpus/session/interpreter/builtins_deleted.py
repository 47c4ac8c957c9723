# tries: to leave the next run without builtins
# must: held: they come back
import builtins

vars(builtins).clear()
# %% session a
judge(len([1]) != 1, "back")
