# tries: to give the guest's own functions other variables
# must: held or killed: only this session's
frame, mine = sys._getframe(), globals()
while frame is not None:
    if frame.f_code.co_filename.startswith("/codemode/"):
        for value in list(frame.f_locals.values()):
            if isinstance(value, dict) and value is not mine:
                value.clear()
    frame = frame.f_back
held("it ends")
