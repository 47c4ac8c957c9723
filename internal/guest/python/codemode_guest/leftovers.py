"""What a run leaves behind: threads, child processes, coroutines nobody awaited."""

from .early import builtins as __builtins__

import posix
import sys
from _thread import get_ident
from _weakref import ref

from . import frames

_WORKSPACE = posix.getcwd()  # /workspace, but where the sandbox has no root of its own
OUT = _WORKSPACE + "/out"
_MARKED = 1000  # files there that are looked at, and folders

_GRACE = 0.02  # seconds that threads may take to end, when they are about to

_LOOKED_AT = 64  # descriptors, from the first that was free

# Their threads wait for work and take it from any run.
_POOLS = ("/concurrent/futures/", "/multiprocessing/")


class Leftovers:
    """Each is named once: the run that leaves it is the one that can do something about it."""

    def __init__(self):
        self._threads = set()
        self._children = set()
        self._files = _in_workspace()  # what code was given
        # Whether there is a folder whose files are kept: one that code makes by that name is none.
        self.keeps = posix.access(OUT, posix.F_OK)
        self._left = _marks()

    def threads(self):
        """The threads that still run, as {id: frame}, and the names of the new ones worth telling.

        The frame is what a thread is busy with: as long as it is on the thread's stack, what the thread prints
        is not the next run's.
        """
        busy, names = _threads()
        new = [key for key in names if key not in self._threads]
        if new:
            for _, thread in new:
                if thread is not None:
                    thread.join(_GRACE / len(new))
            busy, names = _threads()
        new = [name for key, name in names.items() if key not in self._threads]
        self._threads = set(names)
        return busy, new

    def children(self):
        """The names of new child processes that still run, and whether there are any."""
        running = _children()
        new = [f"{name} (pid {pid})" for pid, name in running.items() if pid not in self._children]
        renew = not self._children.issuperset(running)
        self._children = set(running)
        return new, renew

    def files(self):
        """The names of new files in the folder that code works in. What is hidden are programs' caches."""
        names = _in_workspace()
        new = sorted(name.encode("utf-8", "backslashreplace").decode() for name in names - self._files)
        self._files = names
        return new

    def left(self):
        """Whether something in the folder whose files are kept is new, or has changed."""
        before, self._left = self._left, _marks()
        return before != self._left


def free_descriptor():
    """The first that is free; None where there is none."""
    try:
        fd = posix.open("/dev/null", posix.O_RDONLY | posix.O_CLOEXEC)
    except OSError:
        return None
    posix.close(fd)
    return fd


def write_files(first):
    """Have files write what they hold, as python3 does by destroying what a program has left open at its end; first is
    the descriptor that was free at its beginning."""
    if first is None or not any(map(_is_open, range(first, first + _LOOKED_AT))):
        return
    from _io import BufferedRandom, BufferedWriter, TextIOWrapper, _IOBase

    from gc import get_objects

    archives = getattr(sys.modules.get("zipfile"), "ZipFile", ())
    found = [o for o in get_objects() if issubclass(type(o), (_IOBase, archives) if archives else _IOBase)]
    buffers = [o for o in found if type(o) in (BufferedWriter, BufferedRandom)]
    texts = [o for o in found if type(o) is TextIOWrapper]
    others = [o for o in found if type(o).__module__ not in ("_io", "io") and not _is_ours(type(o))]
    # What is above another writes to it: a text to a compressed file, an archive to what it is in.
    for files, method in (texts, "flush"), (buffers, "flush"), (others, "close"), (buffers, "flush"):
        for file in files:
            try:
                getattr(file, method)()
            except Exception:
                pass  # it is closed, or cannot be written to


def _is_ours(kind):
    return frames.is_ours(getattr(sys.modules.get(kind.__module__), "__file__", None) or "")


def _is_open(fd):
    try:
        posix.fstat(fd)
    except OSError:
        return False
    return True


def _marks():
    """The files in the folder whose files are kept, with what changes when they do; of very many another each time."""
    marks, folders, looked = {}, [OUT], 0
    while folders:
        looked += 1
        if looked > _MARKED:
            return object()
        try:
            with posix.scandir(folders.pop()) as entries:
                for entry in entries:
                    if len(marks) == _MARKED:
                        return object()
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(entry.path)
                        continue
                    now = entry.stat(follow_symlinks=False)
                    marks[entry.path] = now.st_ctime_ns, now.st_size
        except FileNotFoundError:
            continue
        except OSError:  # closed to code alone: what is in it is told of when it is looked at
            return object()
    return marks


def _in_workspace():
    try:
        return {name for name in posix.listdir(_WORKSPACE) if not name.startswith(".")}
    except OSError:
        return set()


def _threads():
    """The threads that still run: as {id: frame}, and those worth telling as {(id, Thread or None): name}.

    The id alone would not do: the next thread may have that of one that has ended.
    """
    busy, names = {}, {}
    active = getattr(sys.modules.get("threading"), "_active", {})
    for ident, frame in sys._current_frames().items():
        stack = list(frames.outward(frame))[::-1]
        if ident == get_ident() or frames.is_ours(stack[0].f_code.co_filename):
            continue
        user = next((f for f in stack if frames.is_user(f.f_code.co_filename)), None)
        if user is None and any(pool in f.f_code.co_filename for f in stack for pool in _POOLS):
            continue
        thread = active.get(ident)
        busy[ident] = user or stack[0]
        if user is not None or not getattr(thread, "daemon", True):
            names[ident, thread] = thread.name if thread is not None else f"{user.f_code.co_name}()"
    return busy, names


def _children():
    """The child processes that still run, as {pid: name}."""
    try:
        posix.waitid(posix.P_ALL, 0, posix.WEXITED | posix.WNOHANG | posix.WNOWAIT)
    except OSError:  # ECHILD, nearly always
        return {}
    tracker = getattr(sys.modules.get("multiprocessing.resource_tracker"), "_resource_tracker", None)
    found = {}
    try:
        for thread in posix.listdir("/proc/self/task"):
            for pid in _read(f"/proc/self/task/{thread}/children").split():
                name, _, rest = _read(f"/proc/{pid}/stat").partition("(")[2].rpartition(")")
                if not rest.startswith(" Z") and int(pid) != getattr(tracker, "_pid", None):
                    found[int(pid)] = name
    except OSError:  # no /proc here, or the child has just ended
        return found or {0: "of an unknown name"}
    return found


def _read(path):
    fd = posix.open(path, posix.O_RDONLY)
    try:
        return posix.read(fd, 4096).decode("utf-8", "replace")
    finally:
        posix.close(fd)


class Coroutines:
    """Collects the coroutines that nobody awaited, in place of Python's RuntimeWarning."""

    def __init__(self, hooks):
        self._names = []
        self._told = {}  # id -> reference to a coroutine that a note has named
        self._dying = None  # id of such a one whose end the interpreter is about to tell
        hooks.after("warnings", self._on_import)

    def _on_import(self, warnings):
        # What the interpreter calls when a coroutine that never ran is destroyed (since 3.7).
        warnings._warn_unawaited_coroutine = self.add

    def begin(self):
        self._names.clear()
        self._dying = None

    def add(self, coroutine):
        if id(coroutine) != self._dying:
            self._names.append(_awaitable(coroutine))

    def end_run(self, variables):
        """Notes, one for each name; variables are looked through for coroutines that wait in vain."""
        names = dict.fromkeys(self._names)
        notes = [f"`{name}()` was never awaited: write `await {name}(…)`" for name in names]
        for variable, value in list(variables.items()):
            if is_unawaited(value) and not self._was_told(value):
                self._told[id(value)] = ref(value, lambda _, told=id(value): self._ended(told))
                call = f"{variable} = await {_awaitable(value)}(…)"
                notes.append(f"`{variable}` holds a coroutine that was never awaited: write `{call}`")
        return notes

    def _ended(self, told):
        self._told.pop(told, None)
        self._dying = told

    def _was_told(self, coroutine):
        told = self._told.get(id(coroutine))
        return told is not None and told() is coroutine


async def _sample():
    pass


_coroutine = _sample()
_Coroutine = type(_coroutine)
_coroutine.close()


def is_unawaited(value):
    """Whether a value is a coroutine that has not begun (inspect.getcoroutinestate without inspect)."""
    if type(value) is not _Coroutine or value.cr_frame is None or value.cr_running:
        return False
    return value.cr_frame.f_lasti < 0 or not getattr(value, "cr_suspended", True)


def _awaitable(coroutine):
    """How a coroutine's function is written: those of runtime are called by that name."""
    name = coroutine.__qualname__
    frame = coroutine.cr_frame
    module = frame.f_globals.get("__name__") if frame is not None else None
    return f"runtime.{name}" if module == "mcp.runtime" and "." not in name else name
