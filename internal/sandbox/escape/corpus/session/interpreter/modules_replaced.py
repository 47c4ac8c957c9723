# tries: to have other sessions import its modules in place of codemode's
# must: held: each session has an interpreter of its own
import types

for name in ("mcp", "mcp.runtime", "mcp._calls", "codemode_guest.channel", "json", "asyncio"):
    sys.modules[name] = types.SimpleNamespace(poisoned=True)
# %% session b
import mcp
import mcp.runtime

judge(hasattr(mcp, "poisoned") or not mcp.__file__.startswith("/codemode/"), mcp.__file__)
