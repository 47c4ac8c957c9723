"""The timer of real time: what signal.setitimer, getitimer and alarm do, by a thread that waits.

The sandbox refuses the kernel's, which fires to the microsecond: where many processes had one, others were held up
(seccomp/neighbours.go). A thread's wait may end some milliseconds late, as all of a guest's may (sandbox.TimerSlack).
"""

from .early import builtins as __builtins__

import _signal
import errno
import posix
import sys
from _operator import index
from _queue import Empty, SimpleQueue
from _thread import RLock, start_new_thread
from time import monotonic

_APART = 0.005  # seconds between two signals of one setting, at least: each costs four times what a wait does
_LONGEST = 3600.0  # seconds that the thread waits at once
_MOST = 2**63 / 1e9  # seconds that Python can tell
_kernel = {name: getattr(_signal, name) for name in ("setitimer", "getitimer", "alarm")}


class _Timer:
    """A signal's handler may set it in the midst of whatever it does, and may raise."""

    def __init__(self):
        self._lock = RLock()  # so that no signal is sent once set has returned
        self._due = 0.0  # when the signal is sent; 0 where it is not
        self._interval = 0.0
        self._until = 0.0  # when the thread looks again; 0 where there is none
        self._look = SimpleQueue()  # has it look at once

    def set(self, seconds, interval=0.0):
        """Have the signal sent in some seconds and then each interval; return what left returned before."""
        for value in (seconds, interval):
            if value < 0:
                raise _signal.ItimerError(errno.EINVAL, "Invalid argument")
            if not value < _MOST:
                raise ValueError("a timer takes seconds that can be counted, not %r" % value)
        with self._lock:
            before = self.left()
            self._due = monotonic() + seconds if seconds else 0.0
            self._interval = interval
            if not self._until:
                if seconds:
                    start_new_thread(self._run, ())
                    self._until = self._due
            elif self._due < self._until:
                self._look.put(None)
        return before

    def left(self):
        """The seconds until the signal is sent, and the interval; both 0 where it is not."""
        with self._lock:
            return (max(self._due - monotonic(), 1e-6), self._interval) if self._due else (0.0, 0.0)

    def _run(self):
        # The signal is the process's, as it would be the kernel's: whoever does not block it may get it.
        _signal.pthread_sigmask(_signal.SIG_BLOCK, _signal.valid_signals())
        while True:
            with self._lock:
                now = monotonic()
                if self._due and self._due <= now:
                    self._due = self._next(now)
                    posix.kill(posix.getpid(), _signal.SIGALRM)
                self._until = self._due and min(self._due, now + _LONGEST)
                if not self._until:
                    return
            try:
                self._look.get(timeout=max(self._until - now, 0))
            except Empty:
                pass

    def _next(self, now):
        """When the signal is sent again: those that were missed are one."""
        if not self._interval:
            return 0.0
        return self._due + ((now + _APART - self._due) // self._interval + 1) * self._interval


_timer = _Timer()


def setitimer(which, seconds, interval=0.0, /):
    """Have a signal sent in some seconds, and each interval after that: of ITIMER_REAL, SIGALRM. 0 ends it.

    Return the former values. In codemode's sandbox a timer of real time comes up to 5 ms late, and no sooner than 5 ms
    after the last time."""
    if which != _signal.ITIMER_REAL:
        return _kernel["setitimer"](which, seconds, interval)
    alarmed = _kernel["getitimer"](which)
    before = _timer.set(seconds + 0.0, interval + 0.0)
    _kernel["alarm"](0)
    return before if before[0] else alarmed


def getitimer(which, /):
    """Return the seconds until a timer fires, and its interval."""
    left = _timer.left() if which == _signal.ITIMER_REAL else (0.0, 0.0)
    return left if left[0] else _kernel["getitimer"](which)


def alarm(seconds, /):
    """Have SIGALRM sent in some seconds, a whole number; 0 ends it. Return how many were left."""
    seconds = index(seconds)
    left, _ = _timer.set(0.0)
    before = _kernel["alarm"](seconds)  # which goes on in a program that is executed
    if seconds and not _kernel["getitimer"](_signal.ITIMER_REAL)[0]:  # where C libraries make it with setitimer
        _timer.set(seconds + 0.0)
    return before or round(left) or int(left > 0)


def install():
    """Have them in the place of the interpreter's. A child process begins without the timer, and without its thread."""
    for function in (setitimer, getitimer, alarm):
        for module in (_signal, sys.modules.get("signal")):
            if module is not None:
                setattr(module, function.__name__, function)
    posix.register_at_fork(after_in_child=_timer.__init__)


def stop():
    """End the timer, and what C code may have set of its own."""
    _timer.set(0)
    _kernel["alarm"](0)
