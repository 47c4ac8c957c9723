# tries: to end a run that has not begun
# must: killed: nobody asked for it yet
send(message(id=run_request()["id"] + 1, result={"status": "ok"}))
stay()
