# tries: to show an image that is no base64
# must: killed: the session ends
send(message(method="display", params={"run": run_request()["params"]["run"], "mime": "image/png", "data": "!!!"}))
stay()
