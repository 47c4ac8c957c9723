# tries: to leave files for another session and another tenant
# must: held: each has its own /tmp, /workspace and /dev/shm
for directory in ("/tmp", "/workspace", "/dev/shm", os.environ["HOME"], os.environ["TMPDIR"]):
    try:
        open(directory + "/door", "w").close()
    except OSError:
        pass
# %% session b
found = [d for d in ("/tmp", "/workspace", "/dev/shm", os.environ["HOME"], os.environ["TMPDIR"]) if os.path.exists(d + "/door")]
judge(found, found)
# %% tenant b
found = [d for d in ("/tmp", "/workspace", "/dev/shm", os.environ["HOME"], os.environ["TMPDIR"]) if os.path.exists(d + "/door")]
judge(found, found)
