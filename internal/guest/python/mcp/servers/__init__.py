"""The servers as modules: `from mcp.servers.github import *`, `import mcp.servers.github as gh`."""

import sys

from .. import _names, _state

_catalog = _state.context.catalog
_ModuleSpec = type(__spec__)  # without importlib


class _Finder:
    """Finds mcp.servers.<alias>; importing it loads the server."""

    def find_spec(self, name, path=None, target=None):
        package, _, alias = name.rpartition(".")
        if package != __name__:
            return None
        if _catalog.by_alias(alias) is None:
            why = _catalog.why_not(alias)
            if why:
                raise ModuleNotFoundError(f"No module named {name!r}; {why}", name=name)
            meant = _names.nearest(alias, __dir__())
            hint = f"; did you mean {package}.{meant}?" if meant else ""
            raise ModuleNotFoundError(f"No module named {name!r}{hint}", name=name)
        return _ModuleSpec(name, self, origin="MCP server")

    def create_module(self, spec):
        return _state.context.module(_catalog.by_alias(spec.name.rpartition(".")[2]))

    def exec_module(self, module):
        _catalog.loaded_sync(module.__server__)


def __getattr__(name):
    server = _catalog.by_alias(name)
    if server is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _state.context.module(server)


def __dir__():
    return [server.alias for server in _catalog.servers()]


sys.meta_path.append(_Finder())
