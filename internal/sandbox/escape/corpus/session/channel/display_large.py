# tries: to hand over an image larger than anybody wants
# must: held: left out, and a note says so
import base64

data = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(30 << 20)).decode()
send(message(method="display", params={"run": run_request()["params"]["run"], "mime": "image/png", "data": data}))
held("left out")
