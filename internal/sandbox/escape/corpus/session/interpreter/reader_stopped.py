# tries: to stop the guest from hearing the host
# must: killed: by the clock
guest("Reader")._dispatch = lambda line: None
while True:
    time.sleep(1)
