"""Everything the guest says to the host, in the order in which it was said.

Three sources meet here: messages, what Python's streams write, and what arrives in the pipes behind
descriptors 1 and 2 (C code, child processes). A write first empties the pipes, for what is in them
was written earlier. Small writes are gathered for a few milliseconds.

A signal handler or a finalizer of the user's may run, print or raise between any two bytecodes of this file.
So there is no moment at which an exception could tear a line or lose the place in one: entries leave the
queue only after `_done` covers them, and the count of sent bytes is kept by the C call that sends them.
"""

from .early import builtins as __builtins__

import posix
import select
import sys
import time
import _warnings
from _collections import deque
from _thread import RLock, get_ident, start_new_thread
from itertools import count

from . import wire

MESSAGE = 64 << 10  # bytes of output in one message: docs/protocol.md
GATHER = 8 << 10  # bytes of small writes worth a message of their own
TICK = 0.004  # seconds a small write may wait
QUICK = 20  # lines within one tick that do not wait, so that a crash loses output only of a program that floods
PIPE = 256 << 10  # more than a pipe holds: one read empties it
BROKEN = 70  # exit code of a guest whose channel broke: EX_SOFTWARE of sysexits.h


class Outbox:
    def __init__(self, fd, stdout, stderr):
        self._fd = fd
        self._lock = RLock()
        self._queue = deque()  # (number, stream or None, bytes or memoryview)
        self._number = count(1).__next__
        self._done = 0  # every entry up to this number has been sent
        self._sending = None  # (bytes, [counts sent so far], last entry's number)
        self._pumper = None  # the frame that sends
        self._size = 0
        self._soon = False  # whether somebody who has called send_soon is to flush
        self._quick = QUICK
        self._armed = False
        self._run = None
        self._stale = {}  # thread id -> outermost frame of what an earlier run left there
        self._pipes = {stdout: "stdout", stderr: "stderr"}
        self._left = []  # read ends of earlier runs' pipes: read, and thrown away
        self._poll = None
        self._wake_read, self._wake = posix.pipe()
        posix.set_blocking(self._wake, False)
        self._watch()

    def start(self):
        """Start to relay what arrives in the pipes, and to send what was gathered."""
        posix.register_at_fork(
            before=self._before_fork,
            after_in_parent=lambda: self._lock.release(),
            after_in_child=self._in_child,
        )
        start_new_thread(self._relay, ())

    # What others call.

    def begin(self, run):
        """Let output through, as that of a run."""
        with self._lock:
            if not self._whole():
                self._renew()
            self._drain_all()
            self._run = run

    def end(self, stale, renew):
        """Send what is left of the run's output, and let nothing through from now on.

        stale are the threads that still run (see leftovers.threads); renew says that child processes
        do, and that they must not hold the pipes of the next run.
        """
        if self._fd is None:
            return
        with self._lock:
            self._drain_all()
            self._stale = stale
            if renew:
                self._renew()
            self._pump()
            self._run = None

    def send(self, line):
        """Send a message, one line without its newline, behind everything written before it."""
        with self._lock:
            self._drain()
            self._put(None, line + b"\n")
            self._pump()

    def send_soon(self, line):
        """send, with what follows at once, so that one write does for many. True has the caller flush when it has no more.

        Where it comes to nothing of the kind, because code computes, the relay sends it after a TICK.
        """
        with self._lock:
            self._drain()
            first, self._soon = not self._soon, True
            self._put(None, line + b"\n")
            if self._size >= GATHER:
                self._pump()
                return False
            if not self._armed:
                self._arm()
            return first

    def write(self, stream, data):
        """Take what a Python stream writes."""
        if self._fd is None:
            return _write_all(1 if stream == "stdout" else 2, data)
        with self._lock:
            if self._run is None or (self._stale and self._is_stale()):
                return
            self._drain()
            if len(data) > MESSAGE:
                return self._write_large(stream, data)
            self._put(stream, data)
            if self._size >= GATHER:
                self._pump()
            elif self._quick and data[-1:] == b"\n":
                self._quick -= 1
                self._pump()
            if not self._armed:
                self._arm()

    def flush(self):
        if self._queue and self._fd is not None:
            with self._lock:
                self._pump()

    @property
    def forked(self):
        """Whether this is a child process of the guest, which has no channel."""
        return self._fd is None

    # The queue.

    def _put(self, stream, data):
        self._size += len(data)
        self._queue.append((self._number(), stream, data))

    def _write_large(self, stream, data):
        start, view = 0, memoryview(data)
        while start < len(view):
            end = min(start + MESSAGE, len(view))
            cut = end
            while cut < len(view) and cut > end - 4 and view[cut] & 0xC0 == 0x80:
                cut -= 1  # not within a character
            self._put(stream, view[start:cut])
            self._pump()
            start = cut

    def _pump(self):
        """Send the queue."""
        if self._pumper is not None and _on_stack(self._pumper):
            return self._arm()  # called by a finalizer in the midst of the loop below
        self._pumper = sys._getframe()
        while self._queue:
            if self._sending is None:
                self._sending = self._gather()
            data, sent, last = self._sending
            while sum(sent) < len(data):
                try:
                    # One C call both writes and notes how much: see the top of this file.
                    sent.extend(map(posix.write, (self._fd,), (memoryview(data)[sum(sent) :],)))
                except OSError as error:
                    if error.errno is None:  # a TimeoutError, say, of a signal handler of the user's
                        raise
                    posix._exit(BROKEN)
            self._done = last
            self._sending = None
            while self._queue and self._queue[0][0] <= self._done:
                self._queue.popleft()
        self._size = 0
        self._soon = False
        self._pumper = None

    def _gather(self):
        """Encode the head of the queue, up to about four messages of output."""
        lines, pieces, size, total, current, last = [], [], 0, 0, None, self._done
        for number, stream, data in list(self._queue):  # a copy: a finalizer may add to it
            if number <= self._done:
                continue
            if total > 4 * MESSAGE:
                break
            if pieces and (stream != current or size + len(data) > MESSAGE):
                self._encode(lines, current, pieces)
                pieces, size = [], 0
            if stream is None:
                lines.append(data)
            else:
                pieces.append(data)
                size += len(data)
            current, last, total = stream, number, total + len(data)
        if pieces:
            self._encode(lines, current, pieces)
        return b"".join(lines), [], last

    def _encode(self, lines, stream, pieces):
        data = pieces[0] if len(pieces) == 1 else b"".join(pieces)
        head = b'{"jsonrpc":"2.0","method":"output","params":{"run":%d,"stream":"%b",' % (
            self._run or 0,
            stream.encode(),
        )
        text, raw = _split(data)
        if text:
            lines.append(b'%b"text":%b}}\n' % (head, wire.quote(text).encode("utf-8")))
        if raw:
            import binascii

            lines.append(b'%b"base64":"%b"}}\n' % (head, binascii.b2a_base64(raw, newline=False)))

    def _is_stale(self):
        frame = self._stale.get(get_ident())
        if frame is None:
            return False
        if _on_stack(frame):
            return True
        del self._stale[get_ident()]  # the thread has gone on to something new, or its id to another thread
        return False

    # The pipes.

    def _watch(self):
        self._poll = select.poll()
        for fd in self._pipes:
            self._poll.register(fd, select.POLLIN)

    def _drain(self):
        """Queue what is in the pipes now. Whether there was anything."""
        try:
            ready = self._poll.poll(0)
        except RuntimeError:  # a signal handler prints while another poll waits
            return False
        for fd, _ in ready:
            data = posix.read(fd, PIPE)
            if not data:  # descriptor 1 or 2 was closed; the next run has it again
                self._poll.unregister(fd)
                self._pipes[fd] = None
            elif self._run is not None:
                for start in range(0, len(data), MESSAGE):
                    self._put(self._pipes[fd], data[start : start + MESSAGE])
        return bool(ready)

    def _drain_all(self):
        for _ in range(64):  # a child that writes without end must not hold up the end of the run
            if not self._drain():
                return
            self._pump()

    def _whole(self):
        """Whether descriptors 1 and 2 still are the pipes."""
        try:
            return all(
                name and posix.fstat(fd).st_ino == posix.fstat(1 if name == "stdout" else 2).st_ino
                for fd, name in self._pipes.items()
            )
        except OSError:
            return False

    def _renew(self):
        """Give descriptors 1 and 2 new pipes; what other holders of the old ones write is lost."""
        _occupy()
        self._left += [fd for fd, name in self._pipes.items() if name]
        self._pipes = {}
        for name, target in (("stdout", 1), ("stderr", 2)):
            self._pipes[pipe_to(target)] = name
        self._watch()
        self._arm()

    def _arm(self):
        self._armed = True
        try:
            posix.write(self._wake, b".")
        except BlockingIOError:
            pass  # full: the relay has been woken often enough

    def _relay(self):
        while True:
            poll = select.poll()
            pipes, left = self._pipes, self._left
            for fd in (self._wake_read, *left, *(fd for fd, name in pipes.items() if name)):
                poll.register(fd, select.POLLIN)
            small = 0  # turns without a pause that had little: who writes little all the time must not make many messages
            while pipes is self._pipes:
                ready = [fd for fd, _ in poll.poll(1000 * TICK)]
                if not ready:
                    small, ready = 0, [fd for fd, _ in poll.poll()]
                if self._wake_read in ready:
                    posix.read(self._wake_read, 4096)
                    time.sleep(TICK)
                elif small > QUICK:
                    time.sleep(TICK)
                with self._lock:
                    self._armed = False
                    self._quick = QUICK
                    self._drain()
                    small = small + 1 if self._size < GATHER else 0
                    self._pump()
                for fd in ready:
                    if fd in pipes and pipes[fd] is None:
                        poll.unregister(fd)
                    elif fd in left and not posix.read(fd, PIPE):
                        left.remove(fd)
                        poll.unregister(fd)
                        posix.close(fd)

    # Forks.

    def _before_fork(self):
        _allow_fork_with_threads()
        self._lock.acquire()
        if self._fd is not None:
            self._drain()
            self._pump()

    def _in_child(self):
        if self._fd is not None:
            for fd in (self._fd, self._wake, self._wake_read, *self._pipes, *self._left):
                posix.close(fd)
        self._fd = None
        self._lock = RLock()
        self._queue.clear()


class _ForkWarning:
    """A pattern for the text of a warning, as re would compile it."""

    @staticmethod
    def match(text):
        return "use of fork() may lead to deadlocks" in text


_FORK_FILTER = ("ignore", _ForkWarning, DeprecationWarning, None, 0)


def _allow_fork_with_threads():
    """Silence the warning (since 3.12) that a fork of a process with threads gives: the threads are codemode's."""
    filters = _warnings.filters
    if not filters or filters[0] is not _FORK_FILTER:
        if _FORK_FILTER in filters:
            filters.remove(_FORK_FILTER)
        filters.insert(0, _FORK_FILTER)


def pipe_to(target):
    """Make a pipe whose write end is the descriptor target; return the read end."""
    read, write = posix.pipe()
    posix.dup2(write, target)
    posix.close(write)
    return read


def _occupy():
    """Open descriptors 0, 1 and 2 where the program closed them, so that nothing else gets these numbers."""
    fd = 0
    while fd <= 2:
        fd = posix.open("/dev/null", posix.O_RDWR)
    posix.close(fd)


def _on_stack(frame):
    """Whether frame is being executed by the calling thread."""
    current = sys._getframe(1)
    while current is not None and current is not frame:
        current = current.f_back
    return current is not None


def _split(data):
    """Split bytes into text and what is not UTF-8: a character cut off at the end, or else all of it."""
    try:
        return str(data, "utf-8"), b""
    except UnicodeDecodeError as error:
        whole = error.start if error.start > len(data) - 4 else 0
        return str(data[:whole], "utf-8"), data[whole:]


def _write_all(fd, data):
    view = memoryview(data)
    while len(view):
        view = view[posix.write(fd, view) :]
