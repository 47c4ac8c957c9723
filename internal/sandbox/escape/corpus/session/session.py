"""What attempts of runs share: codemode's own objects, as any code can find them, and the verdict, which is printed."""

import gc
import json
import os
import sys
import time


def report(verdict, detail):
    """Says how the attempt went; the last report counts."""
    os.write(1, (json.dumps({"verdict": verdict, "detail": str(detail)[:300]}) + "\n").encode())


def held(detail):
    report("held", detail)


def held_first(detail):
    """Says held on the channel itself, where a forged result that follows cannot overtake it."""
    line = json.dumps({"verdict": "held", "detail": detail}) + "\n"
    send(message(method="output", params={"run": run_request()["params"]["run"], "stream": "stdout", "text": line}))


def escaped(detail):
    report("escaped", detail)


def measured(detail):
    report("measured", detail)


def judge(success, detail):
    """Reports an attempt that succeeded if success is true."""
    report("escaped" if success else "held", detail)


def guest(kind):
    """An object of the guest's, by the name of its class."""
    for found in gc.get_objects():
        if type(found).__name__ == kind and type(found).__module__.startswith("codemode_guest"):
            return found


def send(*lines):
    """Writes to the channel, past everything that would check or order it."""
    fd = guest("Outbox")._fd
    for line in lines:
        view = memoryview(line)
        while view:
            view = view[os.write(fd, view) :]


def message(**members):
    return json.dumps({"jsonrpc": "2.0", **members}).encode() + b"\n"


def ask(method, **params):
    """Asks the host; the error it answers with, or the result."""
    try:
        return None, guest("Channel").request_sync(method, params)
    except Exception as error:
        return error, None


def refused(error, detail=""):
    """Reports a request that must have been answered with an error."""
    if error is None:
        escaped("it was answered: %s" % (detail,))
    else:
        held("%s: %s" % (type(error).__name__, error))


def calling(server, tool="x", ident=None):
    """A request for a call, as a line."""
    return message(id=ident, method="tools/call", params={"server": server, "tool": tool, "arguments": {}})


def run_request():
    """The host's own request that this run answers."""
    frame = sys._getframe()
    while frame is not None:
        if frame.f_code.co_name == "_answer":
            return frame.f_locals["request"]
        frame = frame.f_back


def stay():
    """Waits for codemode to end the session."""
    time.sleep(120)
