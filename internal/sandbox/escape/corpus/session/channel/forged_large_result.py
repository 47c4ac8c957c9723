# tries: to fill the caller's context by a forged result
# must: held or killed: each part is cut
large = "x" * (4 << 20)
held_first("cut")
result = {
    "status": "exit",
    "value": {"repr": large, "json": [large]},
    "error": {"type": large, "message": large, "traceback": large},
    "exit": {"code": 1, "message": large},
    "notes": [large] * 4 + ["\x1b[2J"] * 10000,
}
send(message(id=run_request()["id"], result=result))
stay()
