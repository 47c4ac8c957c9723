# tries: to print to a stream that does not exist
# must: held: it is output of the run, and visible
for stream in ("stdin", "", "\x1b[2J", "x" * 100000):
    params = {"run": run_request()["params"]["run"], "stream": stream, "text": "\x1b[31m x\n"}
    send(message(method="output", params=params))
held("visible")
