# tries: to watch codemode's own code, and the next run, by tracers
# must: held: removed when the run ends
import threading


def spy(frame, event, arg):
    seen.append(frame.f_code.co_filename)
    return spy


seen = []
threading.settrace(spy)
threading.setprofile(spy)
sys.setprofile(spy)
sys.settrace(spy)
# %% session a
judge(sys.gettrace() or sys.getprofile(), [name for name in seen if "codemode_guest" in name])
