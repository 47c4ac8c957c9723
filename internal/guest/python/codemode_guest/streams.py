"""sys.stdin, sys.stdout and sys.stderr as a program expects them, over the outbox."""

from .early import builtins as __builtins__

import _io  # in C; io is abstract classes around it, which many a program does without
import sys

NO_INPUT = "there is no terminal and no input here: pass the data in the code"
NO_DEBUGGER = "there is no terminal here to debug from: print what you want to see"


class _Output(_io._RawIOBase):
    """What python3 -u has below its text layer: every write arrives at once."""

    mode = "wb"

    def __init__(self, outbox, stream, fd):
        self._outbox = outbox
        self._stream = stream
        self._fd = fd
        self.name = f"<{stream}>"

    def writable(self):
        return True

    def fileno(self):
        return self._fd

    def write(self, data):
        if self.closed:
            raise ValueError("I/O operation on closed file.")
        if type(data) is not bytes:
            data = memoryview(data).tobytes()
        self._outbox.write(self._stream, data)
        return len(data)

    def flush(self):
        super().flush()
        self._outbox.flush()


class _NoInput(_io._TextIOBase):
    """sys.stdin where nobody is there to type: reading explains itself instead of ending at once."""

    name = "<stdin>"
    mode = "r"
    encoding = "utf-8"
    errors = "strict"

    def readable(self):
        return True

    def fileno(self):
        return 0

    def _refuse(self, *_):
        raise EOFError(NO_INPUT)

    read = readline = readlines = __next__ = _refuse

    @property
    def buffer(self):
        return _NoInputBytes()


class _NoInputBytes(_NoInput, _io._RawIOBase):
    mode = "rb"
    readinto = readall = readinto1 = read1 = peek = _NoInput._refuse


class Streams:
    def __init__(self, outbox):
        self._outbox = outbox
        self._text = {}
        self._stdin = sys.stdin
        self.restore()

    def no_input(self, hooks):
        self._stdin = sys.__stdin__ = _NoInput()
        hooks.after("pdb", _refuse_without_input)

    def restore(self):
        """Undo what an earlier run did to the streams, so that every run can print."""
        for stream, fd in (("stdout", 1), ("stderr", 2)):
            text = self._text.get(stream)
            if text is None or _gone(text):
                raw = _Output(self._outbox, stream, fd)
                text = _io.TextIOWrapper(raw, "utf-8", "backslashreplace", "\n", write_through=True)
                text.mode = "w"
                self._text[stream] = text
            setattr(sys, stream, text)
            setattr(sys, f"__{stream}__", text)
        sys.stdin = self._stdin

    def flush(self):
        """Flush what the program may have put in place of the streams, too."""
        for text in {id(t): t for t in (sys.stdout, sys.stderr, *self._text.values())}.values():
            try:
                text.flush()
            except Exception:
                pass  # closed, detached, or not a stream at all: the program's own affair


def on_io(io):
    """Have a program that imports io find that the streams are what it takes for streams."""
    io.RawIOBase.register(_Output)
    io.TextIOBase.register(_NoInput)
    io.RawIOBase.register(_NoInputBytes)


def _refuse_without_input(pdb):
    """Have a debugger that would read from _NoInput explain itself before it stops anything."""
    set_trace, interaction = pdb.Pdb.set_trace, pdb.Pdb.interaction

    def refuse(debugger):
        if isinstance(sys.stdin if debugger.use_rawinput else debugger.stdin, _NoInput):
            raise EOFError(NO_DEBUGGER)

    def checked_set_trace(self, frame=None, **options):
        refuse(self)
        set_trace(self, frame or sys._getframe(1), **options)

    def checked_interaction(self, *args):
        refuse(self)
        interaction(self, *args)

    pdb.Pdb.set_trace, pdb.Pdb.interaction = checked_set_trace, checked_interaction


def _gone(text):
    """Whether the program closed or detached a stream."""
    try:
        return text.closed
    except ValueError:
        return True
