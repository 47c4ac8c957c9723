"""The guest's main thread: one session, from initialize to the end of the channel."""

from .early import builtins as __builtins__

import posix
import sys
from _queue import Empty, SimpleQueue
from _thread import get_ident, start_new_thread

from . import channel, frames, leftovers, streams, timers
from .display import Displays
from .hooks import Hooks
from .interrupts import Interrupts
from .loops import Loops
from .namespace import Namespace
from .outbox import Outbox
from .runner import Runner

VERSION = 1  # guest.ProtocolVersion
_IDLE = 0.05  # seconds without a request after which a guest is in a pool
_END_GRACE = 2.0  # seconds that atexit handlers may take at the end of a session


class Session:
    def __init__(self, argument):
        read, write, stdout, stderr = channel.claim(argument)
        self._inbox = SimpleQueue()
        self._ready = False
        self._outbox = Outbox(write, stdout, stderr)
        self._interrupts = Interrupts(get_ident())
        handlers = {"interrupt": self._interrupts.ask, "catalog": self._on_catalog}
        self._channel = channel.Channel(read, self._outbox, self._inbox, handlers, self._at_end)
        self._hooks = hooks = Hooks()
        hooks.install()
        self._streams = streams.Streams(self._outbox)
        displays = Displays(self._channel, hooks)
        self._namespace = Namespace(self._channel, hooks, displays.display)
        loops = Loops(hooks)
        self._interrupts.cancel = loops.cancel
        self._runner = Runner(
            self._outbox,
            self._streams,
            self._namespace,
            self._interrupts,
            loops,
            leftovers.Coroutines(hooks),
            displays,
        )
        hooks.after("io", streams.on_io)
        hooks.after("linecache", frames.on_linecache)
        hooks.after("inspect", frames.on_inspect)
        hooks.after("multiprocessing", _fork_by_default)
        hooks.after("asyncio.selector_events", _send_without_descriptors)
        hooks.after("os", self._flush_before_exit)
        posix.environ.setdefault(b"MPLBACKEND", b"Agg")

    def serve(self):
        self._interrupts.install()
        timers.install()
        self._outbox.start()
        self._channel.start()
        while True:
            request = self._next()
            if request is None:
                return
            self._answer(request)

    def _next(self):
        """The next request. A guest that waits for its first one gets ready meanwhile: it is in a pool."""
        self._channel.listen()
        if not self._ready:
            try:
                return self._inbox.get(timeout=_IDLE)
            except Empty:
                import asyncio  # 30 ms, and most code that calls tools needs it
        self._ready = True
        return self._inbox.get()

    def _answer(self, request):
        method, params = request["method"], request.get("params") or {}
        if method == "initialize":
            self._channel.answer(request["id"], self._initialize(params))
        elif method == "run":
            self._ready = True
            self._channel.answer(request["id"], self._runner.run(params))
        elif method == "check":
            from mcp import _functions

            self._channel.answer(request["id"], _functions.check(params["source"]))
        else:
            self._channel.answer_error(request["id"], -32601, f"unknown method {method!r}")

    def _initialize(self, params):
        if params.get("version") != VERSION:
            sys.exit(f"boot.py: protocol version {params.get('version')!r}: want {VERSION}")
        if not params.get("stdin"):
            self._streams.no_input(self._hooks)
        elif params.get("pullStdin"):
            from . import stdin

            stdin.feed(self._channel)
        sys.path.insert(1, "")  # as for python3 -c; behind codemode's own packages
        if params.get("modules"):
            sys.path.insert(1, params["modules"])
        sys.path += params.get("path") or []
        frames.add_libraries(params.get("path") or [])
        frames.layers = params.get("layers")
        self._channel.max_message = params.get("maxMessage") or self._channel.max_message
        return {"version": VERSION, "python": "%d.%d.%d" % sys.version_info[:3]}

    def _on_catalog(self, params):
        self._namespace.update(params)

    def _at_end(self):
        """Stop, and the run that is being executed with it: the host has gone."""
        if self._interrupts.running:
            posix._exit(0)
        self._inbox.put(None)

    def _flush_before_exit(self, os):
        leave = os._exit

        def _exit(status):
            self._outbox.flush()
            leave(status)

        os._exit = _exit


def _fork_by_default(multiprocessing):
    # The code of a run is in no file, so a child process can only have it by fork.
    context = multiprocessing.context
    context._default_context._default_context = context._concrete_contexts["fork"]


def _send_without_descriptors(selector_events):
    # From 3.12 on transports use sendmsg, which a sandbox refuses since it could pass descriptors.
    selector_events._HAS_SENDMSG = False


def main(argument):
    session = Session(argument)
    session.serve()
    start_new_thread(_leave_late, ())
    import atexit

    atexit._run_exitfuncs()
    posix._exit(0)


def _leave_late():
    import time

    time.sleep(_END_GRACE)
    posix._exit(0)
