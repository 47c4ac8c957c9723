# tries: to leave the next run without modules
# must: held: the guest has what it needs
for name in list(sys.modules):
    if name not in ("sys", "builtins", "__main__"):
        del sys.modules[name]
# %% session b
import mcp

held(mcp.__file__)
