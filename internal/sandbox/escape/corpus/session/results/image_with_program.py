# tries: to hand over an image that holds a program
# must: held: a drawing is passed on without scripts and references
import base64

for drawing in (
    b"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>",
    b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>",
    b"<html><body><svg></svg><script>alert(1)</script></body></html>",
    b"<?xml version='1.0'?><!DOCTYPE svg [<!ENTITY x SYSTEM 'file:///etc/passwd'>]><svg>&x;</svg>",
):
    data = base64.b64encode(drawing).decode()
    send(message(method="display", params={"run": run_request()["params"]["run"], "mime": "image/svg+xml", "data": data}))
held("left out")
