"""Reading the channel: in a thread of its own, or in the main thread while that waits for an answer anyway.

The second spares waking two threads one after the other, which is half of what a tool call costs. The thread then
stands by: it looks every TICK whether the main thread still leads, and reads again when it does not.

A signal handler of the user's may raise, or call a tool, between any two bytecodes of the main thread. So what was read
is stored by the C call that reads it, and leaves the store when it has been dispatched: a line may be dispatched twice,
but none is lost. The lock may be taken again by who holds it.
"""

from .early import builtins as __builtins__

import posix
import select
from _collections import deque
from _thread import RLock, allocate_lock, start_new_thread

READ = 16 << 10  # bytes of a first read; doubled while a message is larger
TICK = 0.02  # seconds; for as long nobody may read while the main thread computes between two calls


class Reader:
    """Calls dispatch with each line, and at_end when there will be no more."""

    def __init__(self, fd, dispatch, at_end):
        self._fd = fd
        self._dispatch = dispatch
        self._at_end = at_end
        self._turn = RLock()  # whoever holds it reads
        self._alarm = allocate_lock()  # released to end a standby
        self._alarm.acquire()
        self._standing_by = False
        self._listens = False  # the thread reads at once, whoever has read before
        self._leads = 0  # how often the main thread has read
        self._ended = False
        self._pieces = deque()  # read, and not dispatched yet
        self._searched = 0  # of them, those known to hold no newline
        self._size = READ

    def start(self):
        start_new_thread(self._run, ())

    def lead(self, box):
        """Read until there is something in box, which a dispatched line puts there. For the main thread."""
        self._listens = False
        self._leads += 1
        with self._turn:
            while not box:
                if self._ended:
                    raise EOFError("the connection to codemode has ended")
                self._take_in()

    def listen(self):
        """Let the reader thread read until the main thread does: that waits for nothing of its own any more."""
        self._listens = True  # before it looks whether to rouse a thread that is about to stand by
        self.rouse()

    def rouse(self):
        """Let the reader thread read: another thread waits for an answer, and does not read itself."""
        if self._standing_by:
            try:
                self._alarm.release()
            except RuntimeError:
                pass  # it is about to get up

    # The thread.

    def _run(self):
        poll = select.poll()
        poll.register(self._fd, select.POLLIN)
        seen = 0
        while not self._ended:
            poll.poll()
            if self._leads != seen:
                seen = self._stand_by(seen)
                continue
            with self._turn:
                if not self._ended and poll.poll(0):  # else the main thread has read it meanwhile
                    self._take_in()

    def _stand_by(self, seen):
        """Wait until the main thread no longer reads, or another thread needs an answer."""
        self._standing_by = True
        while not self._listens:
            if seen == self._leads and self._turn.acquire(False):
                self._turn.release()
                break
            seen = self._leads
            if self._alarm.acquire(timeout=TICK):
                break
        self._standing_by = False
        return self._leads

    # Whoever's turn it is.

    def _take_in(self):
        """Wait for what comes, and dispatch it."""
        try:
            self._pieces.extend(map(posix.read, (self._fd,), (self._size,)))
        except OSError as error:
            if error.errno is None:  # a TimeoutError, say, of a signal handler of the user's
                raise
            self._pieces.append(b"")
        last = self._pieces[-1]
        self._size = min(2 * self._size, 1 << 20) if len(last) == self._size else max(self._size // 2, READ)
        while self._next_line():
            pass
        if not last:
            self._ended = True
            self._at_end()

    def _next_line(self):
        """Dispatch the first line; False if there is no whole one."""
        pieces = self._pieces
        while self._searched < len(pieces):
            head, found, rest = pieces[self._searched].partition(b"\n")
            if found:
                break
            self._searched += 1
        else:
            return False
        left = deque(list(pieces)[self._searched + 1 :])
        if rest:
            left.appendleft(rest)
        line = b"".join([*list(pieces)[: self._searched], head])
        self._dispatch(line)
        if pieces is self._pieces:  # else a signal handler has read on
            self._searched = 0
            self._pieces = left
        return True
