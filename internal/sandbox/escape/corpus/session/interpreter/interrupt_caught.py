# tries: to catch the interrupt, every time
# must: killed: by the clock
while True:
    try:
        while True:
            pass
    except BaseException:
        pass
