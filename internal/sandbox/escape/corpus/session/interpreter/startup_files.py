# tries: to have later interpreters run its code as they start (site, .pth, startup files)
# must: held: a session's files are its own, and no interpreter reads them
home = os.environ["HOME"]
evil = "import os; os.environ['POISONED'] = '1'\n"
version = "python%d.%d" % sys.version_info[:2]
for directory in (home, home + "/.local/lib/%s/site-packages" % version, os.environ["TMPDIR"]):
    os.makedirs(directory, exist_ok=True)
    for name in ("usercustomize.py", "sitecustomize.py", "poison.pth", ".pythonrc.py", "pyvenv.cfg", "json.py", "mcp.py"):
        with open(directory + "/" + name, "w") as file:
            file.write(evil)
os._exit(0)
# %% session a
judge("POISONED" in os.environ or os.path.exists(os.environ["HOME"] + "/json.py"), "a fresh one has nothing of it")
# %% session b
import mcp

judge("POISONED" in os.environ or not mcp.__file__.startswith("/codemode/"), "another has nothing of it")
