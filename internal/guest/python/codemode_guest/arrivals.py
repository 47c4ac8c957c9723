"""Answers on their way to the futures of an event loop: whoever reads the channel wakes the loop once for many.

To wake it takes a system call, and has the loop's thread compete with the reader's. A signal handler of the user's may
raise between any two bytecodes, so it is woken again where it is not certain that it was.
"""

from .early import builtins as __builtins__

from _collections import deque


class Arrivals:
    """Those for one loop. put is called by whoever's turn it is to read."""

    def __init__(self, loop):
        self.loop = loop
        self._come = deque()  # (future, answer)
        self._unsure = False  # whether the loop will be woken for what has come

    def put(self, future, answer):
        unsure, self._unsure = self._unsure, True
        self._come.append((future, answer))
        if unsure or len(self._come) == 1:
            try:
                self.loop.call_soon_threadsafe(self._settle)
            except RuntimeError:
                self._come.clear()  # the loop was closed: nobody waits
        self._unsure = False

    def _settle(self):
        come = self._come
        try:
            while come:
                future, answer = come[0]
                if not future.done():
                    future.set_result(answer)
                come.popleft()
        finally:
            if come:
                self.loop.call_soon(self._settle)
