# tries: to print into the result of a later run
# must: held or killed: output of a run that is not under way is dropped
run = run_request()["params"]["run"]
late = '{"verdict": "escaped", "detail": "printed by an earlier run"}\n'
held_first("dropped")
send(message(id=run_request()["id"], result={"status": "ok"}))
while not guest("Session")._inbox.qsize():  # until the host has gone on to the next run
    time.sleep(0.01)
send(message(method="output", params={"run": run, "stream": "stdout", "text": late}))
# %% session a
held("nothing of it is here")
