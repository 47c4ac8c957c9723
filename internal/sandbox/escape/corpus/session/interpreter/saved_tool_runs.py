# tries: to have a saved tool do something when a later session imports it
# must: held: importing executes nothing of it
source = """
def door(x: __import__("builtins").__setattr__("opened", 1) = 0) -> __import__("builtins").__setattr__("opened", 2):
    import builtins
    builtins.opened = 3
"""
error, _ = ask("tools/save", source=source.lstrip(), replace=True)
held(error or "kept")
# %% session b
import builtins

try:
    from tools import door
except ImportError as error:
    door = error
judge(hasattr(builtins, "opened"), door)
