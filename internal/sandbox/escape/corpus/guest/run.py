"""Runs one attempt, by its name in the environment. An error of the operating system is a refusal."""

import os
import sys

# Before anything is imported that opens files of its own.
inherited = []
for fd in range(max(map(int, sys.argv[1].split(":")[1:]), default=2) + 1, 256):
    try:
        os.fstat(fd)
        inherited.append(fd)
    except OSError:
        pass

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, here)

import runpy  # noqa: E402

import attempt  # noqa: E402  (isolated mode leaves a script's directory out of the path)

attempt.inherited = inherited


def unexpected(kind, error, trace):
    if isinstance(error, OSError):
        attempt.held(error)
    else:
        attempt.report("broken", "%s: %s" % (kind.__name__, error))
        sys.__excepthook__(kind, error, trace)


sys.excepthook = unexpected
runpy.run_path(os.path.join(here, os.environ["CODEMODE_TEST_ATTEMPT"] + ".py"), run_name="__main__")
