"""A request under way that holds nobody up."""

from .early import builtins as __builtins__

from _thread import allocate_lock

CANCELLED = -32002  # guest.CodeCancelled


class Pending:
    """Its answer is there for whoever wants it, any number of times, in any thread or event loop.

    told is called with what the host says before the answer, and answered without anything, by whoever reads.
    """

    def __init__(self, channel, method, params, told=None, answered=None):
        self._channel = channel
        self._answered = answered
        self._lock = allocate_lock()
        self._wakers = []
        self.answer = None
        self._ident = channel.ask(method, params, self._take, told)

    def cancel(self):
        """Stop it, unless it has been answered; tells whether it was not."""
        stopped = self.answer is None
        self._take({"error": {"code": CANCELLED, "message": "it was cancelled"}})
        self._channel.forget(self._ident)
        return stopped

    async def wait(self):
        """Return the answer when it has come. To cancel this await cancels no request."""
        try:
            from asyncio import get_running_loop

            loop = get_running_loop()
        except RuntimeError:
            return self.wait_sync()
        future = loop.create_future()

        def settle():
            if not future.done():
                future.set_result(None)

        def wake():
            try:
                loop.call_soon_threadsafe(settle)
            except RuntimeError:
                pass  # the loop was closed: nobody waits

        if self._waits(wake):
            await future
        return self.answer

    def wait_sync(self):
        """Block the calling thread until the answer has come, and return it."""
        over = allocate_lock()
        over.acquire()
        if self._waits(over.release):
            over.acquire()
        return self.answer

    def _waits(self, wake):
        """Whether there is something to wait for, the end of which calls wake."""
        with self._lock:
            if self.answer is None:
                self._wakers.append(wake)
                return True
        return False

    def _take(self, answer):
        with self._lock:
            if self.answer is not None:
                return
            self.answer, wakers = answer, self._wakers
            self._wakers = ()
        for wake in wakers:
            wake()
        if self._answered is not None:
            self._answered()
