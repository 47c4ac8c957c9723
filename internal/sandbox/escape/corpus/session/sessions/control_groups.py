# tries: to meet another session by the name of a control group
# must: held: none can be made, and each sees its own alone
def groups(root):
    for directory, below, _ in os.walk(root):
        yield from (directory + "/" + name for name in below)


for directory in ("/sys/fs/cgroup", *groups("/sys/fs/cgroup")):
    try:
        os.mkdir(directory + "/codemode-door")
    except OSError:
        pass
# %% session b
found = [name for _, below, _ in os.walk("/sys/fs/cgroup") for name in below if "codemode" in name]
judge(found, found)
# %% tenant b
found = [name for _, below, _ in os.walk("/sys/fs/cgroup") for name in below if "codemode" in name]
judge(found, found)
