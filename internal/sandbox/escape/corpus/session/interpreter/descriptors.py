# tries: to use a descriptor that codemode had open
# must: held: only pipes and the channel
found = []
for fd in range(3, 1024):
    try:
        found.append(os.readlink("/proc/self/fd/%d" % fd))
    except OSError:
        pass
strange = [name for name in found if not name.startswith(("pipe:", "socket:", "anon_inode:", "/dev/null", "/proc/"))]
judge(strange, found)
