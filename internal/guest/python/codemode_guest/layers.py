"""How modules of packages that the user has added are found and loaded: by fewer file operations than others.

The mount that a sandbox has of them is new with it, and looks up each file when it is first named. It is also read-only
and has regular files alone, so what is listed there is there, and bytecode that is marked as good without a look at its
source is loaded without one. Whatever is otherwise is done as Python does it.
"""

from .early import builtins as __builtins__

import posix
import sys

_external = sys.modules["_frozen_importlib_external"]
_FOLDERS = ("/opt/codemode/packages/", "/opt/codemode/layers/")  # python.PackagesDir, LayersDir
_UNCHECKED = _external.MAGIC_NUMBER + b"\1\0\0\0"  # PEP 552: its source's hash is in it, and not to be compared


class _Loader(_external.SourceFileLoader):
    def get_code(self, fullname):
        cached = _external.cache_from_source(self.path)
        data = _read(cached)
        if data[:8] != _UNCHECKED:
            return super().get_code(fullname)
        return _external._compile_bytecode(memoryview(data)[16:], fullname, cached, self.path)


def _read(path):
    """A file's content, empty where it cannot be had; without a buffer, which takes longer to make than to fill."""
    try:
        file = posix.open(path, posix.O_RDONLY | posix.O_CLOEXEC)
    except OSError:
        return b""
    try:
        size = posix.fstat(file).st_size
        data = posix.read(file, size)
        return data if len(data) == size else b""
    except OSError:
        return b""
    finally:
        posix.close(file)


_LOADERS = [
    (_Loader if loader is _external.SourceFileLoader else loader, suffixes)
    for loader, suffixes in _external._get_supported_file_loaders()
]
_BEFORE = ["", *_LOADERS[0][1]]  # a package, and C extensions: what is taken before a .py of the same name


class _Finder(_external.FileFinder):
    _listed = None

    def find_spec(self, fullname, target=None):
        if self._listed is None:
            try:
                with posix.scandir(self.path) as entries:
                    self._listed = {entry.name: entry.is_file() for entry in entries}
            except OSError:
                self._listed = {}
        name = fullname.rpartition(".")[2]
        if not self._listed.get(f"{name}.py") or any(name + suffix in self._listed for suffix in _BEFORE):
            return super().find_spec(fullname, target)
        path = f"{self.path}/{name}.py"
        return _external.spec_from_file_location(fullname, path, loader=_Loader(fullname, path))

    def invalidate_caches(self):
        self._listed = None
        super().invalidate_caches()


def _hook(path):
    if not f"{path}/".startswith(_FOLDERS):
        raise ImportError(path)
    return _Finder(path, *_LOADERS)


def find():
    """Have modules in these folders be found so."""
    if _hook not in sys.path_hooks:
        sys.path_hooks.insert(0, _hook)
