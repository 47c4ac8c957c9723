# tries: to give its own run another end
# must: held or killed: it is the run's own affair; the guest's honest result then is one too many
held_first("only its own run")
send(message(id=run_request()["id"], result={"status": "pwned", "error": {"type": "\x1b[31m", "traceback": "\x1b[2J\u202e"}}))
stay()
