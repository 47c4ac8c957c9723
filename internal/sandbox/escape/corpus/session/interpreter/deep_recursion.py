# tries: to overflow the stack
# must: held or killed: an exception or the end of this session
held("it ended")
sys.setrecursionlimit(1 << 30)


def deeper():
    return [deeper()]


deeper()
