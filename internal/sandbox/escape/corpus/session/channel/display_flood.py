# tries: to fill codemode's memory with images
# must: held: a bounded number of bounded size
run = run_request()["params"]["run"]
line = message(method="display", params={"run": run, "mime": "image/png", "data": "iVBORw0KGgo="})
for _ in range(10):
    send(line * 1000)
held("cut")
