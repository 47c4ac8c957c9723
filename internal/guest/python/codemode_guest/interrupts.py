"""Stopping a run: the host's wish becomes a KeyboardInterrupt in the main thread, in that run and no other."""

from .early import builtins as __builtins__

import _signal
import time
from _thread import start_new_thread

# A signal of its own, so that a program that handles or ignores SIGINT can still be stopped, and so that
# asyncio treats SIGINT as always. Its default action is to be ignored, as a child process should.
SIGNAL = _signal.SIGURG
AGAIN = 0.005  # seconds until the signal is sent again


class Interrupts:
    def __init__(self, main_thread):
        self._thread = main_thread
        self._run = None  # the run that has begun and not ended
        self._script = False  # whether it is a program, whose handler of SIGINT is called
        self._guarded = False  # whether its code is being executed
        self._wanted = None  # the run that is to stop
        self.delivered = False
        self.cancel = lambda frame: False  # loops.Loops.cancel: whether a cancelled await will do

    def install(self):
        _signal.signal(SIGNAL, self._on_signal)
        _signal.signal(_signal.SIGINT, self._on_sigint)

    def ask(self, params):
        """Stop a run. Called by whoever reads; the main thread may be told twice."""
        if self.delivered and params.get("run") == self._run:
            return
        self._wanted = params.get("run")
        if self._wanted == self._run:
            start_new_thread(self._insist, (self._wanted,))

    @property
    def running(self):
        return self._run is not None

    def begin(self, run, script=False):
        """A run begins. It can be interrupted within guard."""
        if _signal.getsignal(SIGNAL) != self._on_signal:
            _signal.signal(SIGNAL, self._on_signal)
        self.delivered = False
        self._script = script
        self._run = run

    def end(self):
        """The run is over; an interrupt that still arrives is ignored."""
        self._run = None

    def guard(self, step, *args):
        """Call a step that executes the user's code; return its result and the exception that ended it.

        Wherever the interrupt strikes, it ends in the result.
        """
        try:
            try:
                self._guarded = True
                if self._wanted == self._run:  # asked for before it began, or between two steps
                    self._deliver()
                return step(*args), None
            finally:
                self._guarded = False
        except BaseException as error:
            self._guarded = False  # the finally above may have been what was interrupted
            return None, error

    def spare(self, step, *args):
        """Call a step of codemode's own in the midst of the user's; an interrupt comes after it."""
        self._guarded = False
        try:
            return step(*args)
        finally:
            self._guarded = True  # _insist sends again what came meanwhile

    def _insist(self, run):
        # More than once: a signal that comes right before a system call that waits does not end the wait.
        while self._wanted == run == self._run:
            _signal.pthread_kill(self._thread, SIGNAL)
            time.sleep(AGAIN)

    def _deliver(self, frame=None):
        self._wanted = None
        self.delivered = True
        handler = _signal.getsignal(_signal.SIGINT)
        if self._script and callable(handler) and handler != self._on_sigint:
            _signal.raise_signal(_signal.SIGINT)  # as by a terminal; what goes on after it is killed
        elif not self.cancel(frame):
            raise KeyboardInterrupt

    def _on_signal(self, signum, frame):
        if self._guarded and self._wanted == self._run:
            self._deliver(frame)

    def _on_sigint(self, signum, frame):
        """The program's own doing (os.kill, signal.raise_signal), or a terminal's between two runs."""
        if self._guarded:
            raise KeyboardInterrupt
