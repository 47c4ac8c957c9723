# tries: to end its run twice
# must: held or killed: the first result is the run's, the second ends the session
held_first("the run has ended when the second result comes")
send(message(id=run_request()["id"], result={"status": "ok"}), message(id=run_request()["id"], result={"status": "ok"}))
stay()
