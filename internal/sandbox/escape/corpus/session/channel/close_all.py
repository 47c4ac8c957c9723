# tries: to close every descriptor and go on
# must: killed: by the clock, or at once
os.closerange(0, 1024)
while True:
    time.sleep(1)
