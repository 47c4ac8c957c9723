# tries: to print into the results of runs that are not its own
# must: held: dropped
text = '{"verdict": "escaped", "detail": "printed for another run"}\n'
held("before")
for run in (-1, 0, run_request()["params"]["run"] + 1, 1 << 31):
    send(message(method="output", params={"run": run, "stream": "stdout", "text": text}))
# %% session a
held("dropped")
