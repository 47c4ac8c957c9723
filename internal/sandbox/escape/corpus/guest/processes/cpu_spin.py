# tries: to compute for ever
# must: killed: by the clock
while True:
    pass
