"""Whose code a frame is: the user's, codemode's, or a library's. And the source of what was run."""

from .early import builtins as __builtins__

import encodings
import sys

_OURS = __file__.rpartition("/codemode_guest/")[0] + "/"
_ADDED = "/opt/codemode/"  # where packages are that codemode's user has added
_LIBRARIES = [_OURS, encodings.__path__[0].rpartition("/")[0] + "/"]

layers = None  # a folder in which packages appear that code asks for; None: it cannot

sources = {}  # filename -> code of every run


def is_ours(filename):
    return filename.startswith(_OURS)


def is_user(filename):
    if filename in sources:
        return True
    if filename.startswith("/"):
        return not (filename.startswith(tuple(_LIBRARIES)) or "-packages/" in filename)  # site-, dist-
    return filename.startswith("<") and not filename.startswith("<frozen ")  # else from a library's C code


def outermost_user(traceback):
    """A traceback without the frames above the first one of the user's."""
    while traceback is not None and not is_user(traceback.tb_frame.f_code.co_filename):
        traceback = traceback.tb_next
    return traceback


def add_libraries(paths):
    _LIBRARIES.extend(path.rstrip("/") + "/" for path in paths)
    if any(path.startswith(_ADDED) for path in paths):
        from . import layers

        layers.find()


def add_first_library(path):
    """Have imports look there before they look at other packages, and behind the standard library."""
    if path not in sys.path:
        others = [at for at, other in enumerate(sys.path) if f"{other}/" in _LIBRARIES[2:]]
        sys.path.insert(others[0] if others else len(sys.path), path)
        add_libraries([path])
    import importlib

    importlib.invalidate_caches()  # what was not there a moment ago may be


def add_source(filename, code):
    """Keep a run's code for tracebacks, inspect.getsource, doctest and pdb."""
    sources[filename] = code
    linecache = sys.modules.get("linecache")
    if linecache is not None:
        _register(linecache, filename, code)


def on_linecache(linecache):
    for filename, code in sources.items():
        _register(linecache, filename, code)


def _register(linecache, filename, code):
    # Without a modification time linecache.checkcache leaves the entry alone.
    linecache.cache[filename] = (len(code), None, code.splitlines(True), filename)


def on_inspect(inspect):
    """Let inspect find the source of a class of a cell: it asks for __main__.__file__, which no cell has."""
    getfile = inspect.getfile

    def getfile_of_run(object):
        if isinstance(object, type) and getattr(object, "__module__", None) == "__main__":
            filename = _defining(object.__name__)
            if filename is not None:
                return filename
        return getfile(object)

    inspect.getfile = getfile_of_run


def _defining(name):
    """The newest run whose code defines a class of that name."""
    import re

    defines = re.compile(rf"^\s*class\s+{re.escape(name)}\b", re.MULTILINE).search
    return next((filename for filename in reversed(list(sources)) if defines(sources[filename])), None)


def outward(frame):
    while frame is not None:
        yield frame
        frame = frame.f_back
