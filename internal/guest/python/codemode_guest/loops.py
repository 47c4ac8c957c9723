"""The session's event loop: top-level await, and what is left on the loop when a run ends."""

from .early import builtins as __builtins__

import sys
from _thread import get_ident

GRACE = 0.5  # seconds a cancelled task may take to end


class Loops:
    def __init__(self, hooks):
        self._main_thread = get_ident()
        self._loop = None
        self._task = None  # the run's own, while it has one
        hooks.after("asyncio", self._on_import)

    def _on_import(self, asyncio):
        self._asyncio = asyncio
        if get_ident() == self._main_thread:
            asyncio.set_event_loop(self._get())

    def begin(self):
        """Give asyncio.get_event_loop() its loop back: asyncio.run() of an earlier run took it away."""
        self._task = None
        if self._loop is not None:
            self._asyncio.set_event_loop(self._get())

    def load(self):
        """Import asyncio and make the loop, for run."""
        import asyncio

        self._asyncio = asyncio
        self._get()

    def run(self, coroutine):
        """Run code as a task of the session's loop."""
        loop = self._get()
        self._task = task = loop.create_task(coroutine)
        try:
            return loop.run_until_complete(task)
        except BaseException:
            if task.done() and not task.cancelled():
                task.exception()  # seen: asyncio need not log that nobody retrieved it
            raise

    def cancel(self, frame):
        """Interrupt the run by cancelling its await. False: code is being executed, so raise in it."""
        task = self._task
        if task is None or task.done() or self._executing(frame):
            return False
        task.cancel()
        self._loop.call_soon_threadsafe(lambda: None)  # end the wait
        return True

    def _executing(self, frame):
        """Whether the interrupted frame belongs to a task or a callback, not to the waiting loop."""
        if self._asyncio.current_task(self._loop) is not None:
            return True
        base = self._asyncio.base_events.__file__
        while frame is not None and frame.f_code.co_filename != base:
            if frame.f_globals.get("__name__") == "__main__":
                return True
            frame = frame.f_back
        return False

    def settle(self):
        """Cancel the tasks that a run left behind, and give them the time to end.

        Return their names, and whether they are what a gather() left that passed on the exception of one of them.
        """
        if self._loop is None or self._loop.is_closed():
            return [], False
        main, self._task = self._task, None
        left = self._asyncio.all_tasks(self._loop)
        if not left:
            return [], False
        error = _failure(main)
        gathered = error is not None and all(_is_gathered(task, error) for task in left)
        for task in left:
            task.cancel()
        waiter = self._loop.create_task(self._asyncio.wait(left, timeout=GRACE))
        while not waiter.done():
            try:
                self._loop.run_until_complete(waiter)
            except (KeyboardInterrupt, SystemExit):
                pass  # one of the tasks passes on what has ended the run
        if main in left and main.done() and not main.cancelled():
            main.exception()  # seen, as in run
        return [_name(task) for task in left if task is not main], gathered

    def _get(self):
        if self._loop is None or self._loop.is_closed():
            self._loop = self._asyncio.new_event_loop()
            self._loop.set_exception_handler(self._on_error)
        return self._loop

    def _on_error(self, loop, context):
        # What gather() returned, of tasks that settle cancelled, tells of it when it is destroyed.
        if not isinstance(context.get("exception"), self._asyncio.CancelledError):
            loop.default_exception_handler(context)


def _failure(task):
    """The exception that has ended a task, or None."""
    if task is None or not task.done() or task.cancelled():
        return None
    error = task.exception()
    return error if isinstance(error, Exception) else None


def _is_gathered(task, error):
    """Whether a task is one of a gather() that failed with that exception: its callback holds what gather() returned."""
    for callback, _ in task._callbacks or ():
        free = getattr(getattr(callback, "__code__", None), "co_freevars", ())
        if "gather" in getattr(callback, "__qualname__", "") and "outer" in free:
            outer = callback.__closure__[free.index("outer")].cell_contents
            return outer.done() and not outer.cancelled() and outer.exception() is error
    return False


def _name(task):
    return getattr(task.get_coro(), "__qualname__", None) or task.get_name()
