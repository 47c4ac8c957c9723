# tries: to shadow codemode's own package by a file in the working directory
# must: held: its own comes first
for name in ("mcp", "codemode_guest", "asyncio"):
    with open(name + ".py", "w") as file:
        file.write("raise SystemExit('poisoned')\n")
# %% session a
import mcp
import mcp.runtime

judge(not mcp.__file__.startswith("/codemode/"), mcp.__file__)
