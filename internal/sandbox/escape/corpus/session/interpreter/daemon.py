# tries: to go on after the end of the session by leaving its family
# must: held: every process of a sandbox ends with it
if os.fork() == 0:
    try:
        os.setsid()
    except PermissionError:
        os.setpgrp()
    if os.fork() == 0:
        import signal

        signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))
        os.closerange(0, 256)
        while True:
            time.sleep(1)
    os._exit(0)
held("it is there, as long as the session")
