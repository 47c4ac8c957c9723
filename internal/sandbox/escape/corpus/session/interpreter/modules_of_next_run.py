# tries: to leave its own next run modules that lie about servers
# must: held: a session is one domain of trust; what its run may call, the host decides
import mcp._calls

sys.modules["mcp"] = type(sys)("mcp")
for name in list(vars(mcp._calls)):
    if callable(getattr(mcp._calls, name)):
        setattr(mcp._calls, name, lambda *args, **kwargs: {"poisoned": True})
# %% session a
error, answer = ask("tools/call", server="closed", tool="x", arguments={})
refused(error, answer)
# %% session b
import mcp._calls

judge("poisoned" in repr(mcp._calls.__dict__), "whole")
