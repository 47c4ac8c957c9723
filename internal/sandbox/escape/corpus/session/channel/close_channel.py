# tries: to hang up and go on
# must: killed: by the clock, or at once
os.close(guest("Outbox")._fd)
while True:
    time.sleep(1)
