# tries: to hand over something as an image that is none
# must: held: left out, and a note says so
import base64


def show(mime, data):
    data = base64.b64encode(data).decode()
    send(message(method="display", params={"run": run_request()["params"]["run"], "mime": mime, "data": data}))


show("image/png", b"hello")
show("image/png", b"<html><script>alert(1)</script>")
show("image/jpeg", b"\x89PNG\r\n\x1a\n")
show("image/png\r\nx-evil: 1", b"\x89PNG\r\n\x1a\n")
show("text/html", b"<script>alert(1)</script>")
show("\x1b[2J" * 1000, b"")
show("application/pdf", b"%PDF-1.4")
held("left out")
