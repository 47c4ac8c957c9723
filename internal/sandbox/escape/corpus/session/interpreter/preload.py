# tries: to have codemode's own interpreter load its library
# must: held: variables of a dead or living process are nobody else's
for name in ("LD_PRELOAD", "LD_LIBRARY_PATH", "LD_AUDIT", "PYTHONPATH", "PYTHONSTARTUP", "PYTHONHOME"):
    os.putenv(name, "/workspace/escape.so")
    os.environ[name] = "/workspace/escape.so"
# %% session b
found = [name for name in os.environ if name.startswith("LD_") or os.environ[name].startswith("/workspace/e")]
judge(found, found)
