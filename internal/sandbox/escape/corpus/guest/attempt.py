"""What attempts share: facts about the host, raw system calls, and the verdict on the channel."""

import ctypes
import errno
import json
import os
import sys
import types

given = [int(n) for n in sys.argv[1].split(":")[1:]]
channel = given[-3] if given else 1
work = os.environ["HOME"]
tmp = os.environ["TMPDIR"]

# Descriptors above the guest's own that were open at its very beginning; run.py looks.
inherited = []

# What the host prepared, and the policy; see hostFacts.
host = types.SimpleNamespace(**json.loads(os.environ["CODEMODE_TEST_HOST"]))

_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long


def report(verdict, detail):
    """Says how the attempt went; the last report counts."""
    line = json.dumps({"verdict": verdict, "detail": str(detail)[:300]})
    os.write(channel, line.encode() + b"\n")


def held(detail):
    report("held", detail)


def escaped(detail):
    report("escaped", detail)


def measured(detail):
    report("measured", detail)


def refused(action):
    """Reports what an action ends in: it must be an error."""
    try:
        result = action()
    except Exception as error:
        held("%s: %s" % (type(error).__name__, error))
    else:
        escaped(repr(result))


def syscall(name, *args):
    """Makes a system call by its name; returns the result and errno."""
    ctypes.set_errno(0)
    if name not in host.calls:  # this architecture has none of that name
        return -1, errno.ENOSYS
    values = [ctypes.c_long(a) if isinstance(a, int) else a for a in args]
    result = _libc.syscall(ctypes.c_long(host.calls[name]), *values)
    return result, ctypes.get_errno()


def refused_call(name, *args, result=None):
    """Reports what a system call ends in: it must fail."""
    value, code = result or syscall(name, *args)
    if value == -1:
        held(errno.errorcode.get(code, code))
    else:
        escaped("%s returned %d" % (name, value))
