"""The channel to the host: requests from any thread or event loop."""

from .early import builtins as __builtins__

import posix
import sys
from _thread import _count, allocate_lock, get_ident
from itertools import count

from . import wire
from .arrivals import Arrivals
from .reader import Reader

OWN_THREADS = 2  # the reader's and the outbox's


class RemoteError(Exception):
    """The host answered with an error; docs/protocol.md lists the codes and what data holds."""

    def __init__(self, code, message, data=None):
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data or {}


class Channel:
    """JSON-RPC 2.0 with the host.

    Requests may be made on any number of event loops, in plain functions, and in any thread. handlers are
    called by whoever reads with a message's params, and at_end without; inbox gets the requests.
    """

    def __init__(self, fd, outbox, inbox, handlers, at_end):
        self._fd = fd
        self._outbox = outbox
        self._inbox = inbox
        self._handlers = handlers
        self._main = get_ident()
        self._reader = Reader(fd, self._dispatch, at_end)
        self._next = count(1).__next__  # one C call: threads and signal handlers may ask at any moment
        self._waiting = {}  # id -> what takes the answer
        self._told = {}  # id -> what takes that which is said before the answer
        self._arrivals = None  # of the loop that has asked last
        self.max_message = 64 << 20

    def start(self):
        posix.register_at_fork(after_in_child=self._in_child)
        self._reader.start()

    def listen(self):
        """Have messages taken at once: the main thread asks for nothing any more."""
        self._reader.listen()

    async def request(self, method, params):
        """Ask the host; the result, or RemoteError. Cancelling the await cancels the request."""
        try:
            from asyncio import get_running_loop

            loop = get_running_loop()
        except RuntimeError:  # driven by hand or by another library: nothing else could run meanwhile
            return self.request_sync(method, params)
        if get_ident() == self._main and self._alone(loop):
            return self.request_sync(method, params)
        future = loop.create_future()
        arrivals = self._arrivals
        if arrivals is None or arrivals.loop is not loop:
            arrivals = self._arrivals = Arrivals(loop)
        ident = self._ask(method, params, lambda answer: arrivals.put(future, answer), soon=loop.call_soon)
        self._reader.rouse()
        try:
            answer = await future
        finally:
            self.forget(ident)
        return _result(answer)

    def request_sync(self, method, params):
        """Ask the host and block the calling thread until it has answered."""
        box = []
        if get_ident() == self._main:
            ident = self._ask(method, params, box.append)
            try:
                self._reader.lead(box)
            finally:
                self.forget(ident)
            return _result(box[0])
        answered = allocate_lock()
        answered.acquire()

        def take(answer):
            box.append(answer)
            answered.release()

        ident = self._ask(method, params, take)
        self._reader.rouse()
        try:
            answered.acquire()
        finally:
            self.forget(ident)
        return _result(box[0])

    def begin(self, method, params, told=None, answered=None):
        """Ask the host, and wait for nothing."""
        from .pending import Pending

        return Pending(self, method, params, told, answered)

    def ask(self, method, params, take, told=None):
        """Ask the host; take is called with its answer, told with what comes before that, by whoever reads."""
        ident = self._ask(method, params, take, told)
        self._reader.rouse()
        return ident

    def forget(self, ident):
        """Stop to wait; tells the host where it has not answered yet."""
        if self._waiting.pop(ident, None) is not None and not self._outbox.forked:
            self.notify("cancel", {"id": ident})
        self._told.pop(ident, None)

    def _alone(self, loop):
        """Whether nothing but the caller's task could go on before the answer, so that it may as well block.

        What asyncio's loops have no public name for is asked of their attributes, which are the same in 3.9 to 3.14.
        """
        try:
            return not (
                loop._ready
                or loop._scheduled
                or loop._signal_handlers
                or self._waiting
                or len(loop._selector._fd_to_key) > 1  # its own pipe
                or _count() > OWN_THREADS
            )
        except AttributeError:
            return False

    def notify(self, method, params):
        self._outbox.send(self._line(b'{"jsonrpc":"2.0","method":%b,"params":%b}', method, params))

    def answer(self, ident, result):
        self._outbox.send(b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (wire.dumps(ident), wire.dumps(result)))

    def answer_error(self, ident, code, message):
        error = wire.dumps({"code": code, "message": message})
        self._outbox.send(b'{"jsonrpc":"2.0","id":%b,"error":%b}' % (wire.dumps(ident), error))

    def _ask(self, method, params, take, told=None, soon=None):
        ident = self._next()
        line = self._line(b'{"jsonrpc":"2.0","id":%d,"method":%%b,"params":%%b}' % ident, method, params)
        if told is not None:
            self._told[ident] = told
        self._waiting[ident] = take
        try:
            if soon is None:
                self._outbox.send(line)
            elif self._outbox.send_soon(line):
                soon(self._outbox.flush)
        except BaseException:
            self.forget(ident)
            raise
        return ident

    def _line(self, form, method, params):
        if self._outbox.forked:
            raise RuntimeError("a forked process has no connection to codemode; call tools in the parent process")
        line = form % (wire.dumps(method), wire.dumps(params))
        if len(line) >= self.max_message:
            raise ValueError(f"a message of {len(line):,} bytes is too long: at most {self.max_message:,} bytes fit")
        return line

    # For the reader.

    def _dispatch(self, line):
        try:
            message = wire.loads(line)
        except (ValueError, RecursionError, MemoryError) as error:
            # Only an upstream's result can be out of Python's reach: too deep, too large.
            take = self._waiting.pop(wire.answer_id(line), None)
            if take is None:
                raise
            return take({"error": {"code": -32603, "message": f"the answer cannot be decoded: {error}"}})
        method = message.get("method")
        if method is None:
            take = self._waiting.pop(message.get("id"), None)
            if take is not None:
                self._told.pop(message["id"], None)
                take(message)
        elif "id" in message:
            self._inbox.put(message)
        elif method == "progress":
            said = message.get("params") or {}
            told = self._told.get(said.get("id"))
            if told is not None:
                told(said)
        elif method in self._handlers:
            self._handlers[method](message.get("params") or {})

    def _in_child(self):
        fd, self._fd = self._fd, None  # in a child of the child its number may be another file's
        if fd is not None:
            try:
                posix.close(fd)
            except OSError:
                pass  # the same descriptor as the outbox's
        self._waiting.clear()
        self._told.clear()


def _result(answer):
    error = answer.get("error")
    if error is None:
        return answer.get("result")
    raise RemoteError(error.get("code"), error.get("message", ""), error.get("data"))


def claim(argument):
    """Take the channel's descriptors away from where user code expects its own.

    Returns the descriptors to read and to write messages, and those to read what arrives at 1 and 2.
    """
    from .outbox import pipe_to

    if argument == "stdio":
        read, write = posix.dup(0), posix.dup(1)
        for fd in (read, write):
            posix.set_inheritable(fd, False)
            posix.set_blocking(fd, True)
        null = posix.open("/dev/null", posix.O_RDONLY)
        posix.dup2(null, 0)
        posix.close(null)
        return read, write, pipe_to(1), pipe_to(2)
    kind, *numbers = argument.split(":")
    if kind != "fd" or len(numbers) not in (3, 4):
        sys.exit(f"boot.py: channel {argument!r}: want fd:CHANNEL:STDOUT:STDERR, fd:READ:WRITE:STDOUT:STDERR or stdio")
    *channel, stdout, stderr = map(int, numbers)
    for fd in (*channel, stdout, stderr):
        posix.set_inheritable(fd, False)
    return channel[0], channel[-1], stdout, stderr
