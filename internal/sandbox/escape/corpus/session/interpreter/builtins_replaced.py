# tries: to replace builtins for the next run and the next session
# must: held: a session is one domain of trust, its builtins come back; another session never sees them
import builtins

for name in ("print", "open", "len", "__import__", "__build_class__", "isinstance", "getattr"):
    setattr(builtins, name, None)
builtins.poison = True
# %% session a
judge(None in (print, open, len, isinstance), "back")
# %% session b
judge("poison" in dir(__builtins__), "not here")
