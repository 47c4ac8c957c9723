# tries: to hand variables to later interpreters
# must: held: each has an environment of its own
for name in ("PYTHONPATH", "PYTHONSTARTUP", "PYTHONHOME", "LD_PRELOAD", "LD_LIBRARY_PATH", "BASH_ENV"):
    os.environ[name] = "/workspace/poison"
# %% session b
judge("poison" in repr(dict(os.environ)), "not here")
