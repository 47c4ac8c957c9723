"""Calls back right after a module was first imported, so that nothing is imported for a program that needs it not."""

from .early import builtins as __builtins__

import sys


class Hooks:
    """A finder in front of sys.meta_path."""

    def __init__(self):
        self._callbacks = {}

    def install(self):
        sys.meta_path.insert(0, self)

    def after(self, name, callback):
        """Call callback(module) once the module has been executed; now, if it has been."""
        if name in sys.modules:
            callback(sys.modules[name])
        else:
            self._callbacks[name] = callback

    def find_spec(self, name, path=None, target=None):
        callback = self._callbacks.pop(name, None)
        if callback is None:
            return None
        for finder in sys.meta_path:
            find = getattr(finder, "find_spec", None)
            spec = find(name, path, target) if finder is not self and find else None
            if spec is not None:
                if hasattr(spec.loader, "exec_module"):
                    spec.loader = _Loader(spec.loader, callback, self._callbacks)
                return spec
        self._callbacks[name] = callback  # not found; perhaps on a later sys.path
        return None


class _Loader:
    """Another loader, and a callback after it. What the module sees is the other loader."""

    def __init__(self, loader, callback, callbacks):
        self._loader = loader
        self._callback = callback
        self._callbacks = callbacks

    def __getattr__(self, name):
        return getattr(self._loader, name)

    def create_module(self, spec):
        return self._loader.create_module(spec)

    def exec_module(self, module):
        module.__spec__.loader = module.__loader__ = self._loader
        name = module.__name__
        # What an interrupted import has loaded of a package stays loaded, and only loading binds it to the package.
        for loaded, submodule in list(sys.modules.items()):
            package, _, last = loaded.rpartition(".")
            if package == name:
                setattr(module, last, submodule)
        try:
            self._loader.exec_module(module)
        except BaseException:
            self._callbacks[name] = self._callback  # for the next try
            raise
        self._callback(module)
