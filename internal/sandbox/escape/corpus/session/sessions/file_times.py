# tries: to send bits to another session by the times of files that both can read
# must: held: they are mounted read-only, or each session's own
name = "/codemode/boot.py"
try:
    os.utime(name, (1, 1))
except OSError:
    pass
with open(name, "rb") as file:
    file.read()
os.stat(name).st_atime_ns
# %% session b
now = os.stat("/codemode/boot.py")
judge(1 in (now.st_atime, now.st_mtime), "not changed")
