"""What user code calls tools through: modules whose functions are a server's tools.

mcp_github, mcp_servers["github"] and the module mcp.servers.github are one object. It has no names of its own
that a tool could have, too: aliases are lower case, and none begins and ends with two underscores. What list_tools,
resources and prompts name is there beside a tool of that name, or is it when it is called.
"""

import sys

from . import _docs
from ._binding import bind
from ._calls import no_tool, raw, tool_by_alias, tool_by_name, value

_Module = type(sys)


class ToolFunction:
    """A tool as an async function. raw(…) returns the untouched CallToolResult, start(…) a task."""

    __slots__ = ("_context", "_server", "_alias")

    def __init__(self, context, server, alias):
        self._context = context
        self._server = server
        self._alias = alias

    def __call__(self, /, *args, **kwargs):
        return self._context.calls.by_alias(self._server, self._alias, args, kwargs, value)

    def raw(self, /, *args, **kwargs):
        """Call the tool; return the result as the server sent it."""
        return self._context.calls.by_alias(self._server, self._alias, args, kwargs, raw)

    def start(self, /, *args, **kwargs):
        """Start a call and go on: return a task, whose result `await task` is."""
        return self._context.calls.start(self._server, tool_by_alias, self._alias, bind, args, kwargs)

    def __get__(self, instance, owner=None):
        return self  # makes it a routine to inspect and pydoc; an attribute of a class stays what it is

    def __eq__(self, other):
        return type(other) is type(self) and (self._server, self._alias) == (other._server, other._alias)

    def __hash__(self):
        return hash((self._server, self._alias))

    def __reduce__(self):
        return _unpickle, (self._server, self._alias)

    def _tool(self):
        return tool_by_alias(self._context.catalog.described(self._server), self._alias)

    @property
    def __name__(self):
        return self._alias

    @property
    def __doc__(self):
        return _docs.text(self._tool())

    @property
    def __signature__(self):
        return _docs.signature(self._tool())

    def __getattr__(self, name):
        # A class body cannot define these two for its instances.
        if name == "__qualname__":
            return f"mcp_{self._context.catalog.find(self._server).alias}.{self._alias}"
        if name == "__annotations__":
            tool = self._tool()
            return {**{param["name"]: param["type"] for param in tool.params}, "return": tool.returns}
        raise AttributeError(f"a tool has no attribute {name!r}: call it with `await {self.__qualname__}(…)`")

    @property
    def _is_coroutine_marker(self):  # what inspect.iscoroutinefunction looks for, since 3.12
        inspect = sys.modules.get("inspect")
        return getattr(inspect, "_is_coroutine_mark", None) or getattr(inspect, "_is_coroutine_marker", None)

    @property
    def _is_coroutine(self):  # what asyncio.iscoroutinefunction looks for
        return getattr(sys.modules.get("asyncio.coroutines"), "_is_coroutine", None)

    def __repr__(self):
        server = self._context.catalog.by_name(self._server)
        if server is None:
            return f"<tool {self._alias} of a server that is gone>"
        tool = server.by_alias.get(self._alias)
        return f"<{self.__qualname__}: {tool.signature}>" if tool else f"<{self.__qualname__}, not loaded yet>"


class ServerModule(_Module):
    """A server: its attributes are its tools."""

    def __init__(self, context, server):
        super().__init__(f"mcp.servers.{server.alias}")
        self.__context__ = context
        self.__server__ = server.name
        self.__package__ = "mcp.servers"

    def __getattr__(self, name):
        if name in _CONTENTS:
            return _CONTENTS[name](self)
        if name in ("resources", "prompts"):
            from . import _requests

            return _requests.NAMESPACES[name](self.__context__, self.__server__, name)
        catalog = self.__context__.catalog
        server = catalog.by_name(self.__server__)
        if name == "list_tools" and not (server and server.tools is not None and name in server.by_alias):
            return _lister(self)
        known = server is not None and server.tools is not None
        if not known or name not in server.by_alias:
            if _is_python(name):
                raise AttributeError(name)
            if known:
                server = catalog.relisted(server)  # the tool may be newer than the list
                if name not in server.by_alias:
                    raise no_tool(server, name, AttributeError)
        # Of a server that is not loaded, or gone, the call will tell.
        return ToolFunction(self.__context__, self.__server__, name)

    def __getitem__(self, name):
        """A tool by its real name, which may be no name in Python."""
        server = self.__context__.catalog.having(_described(self), name)
        return getattr(self, tool_by_name(server, name).alias)

    def __dir__(self):
        return list(_described(self).by_alias)

    @property
    def __doc__(self):
        server = self.__context__.catalog.by_name(self.__server__)
        return server.description if server else None

    def __repr__(self):
        server = self.__context__.catalog.by_name(self.__server__)
        if server is None:
            return f"<server {self.__server__!r}, gone>"
        of = "" if server.name == server.alias else f" of server {server.name!r}"
        tools = "not loaded yet" if server.tools is None else f"{len(server.tools)} tools"
        return f"<mcp_{server.alias}: {tools}{of}>"

    def __reduce__(self):
        return _unpickle, (self.__server__,)


def _is_python(name):
    """Whether a name is what Python and notebooks look for in any object. No alias is: the host sees to that."""
    if name.startswith(("_repr_", "_ipython_")):
        return True
    return len(name) > 4 and name[:2] == name[-2:] == "__" and name[-3] != "_"


def _lister(module):
    """mcp_x.list_tools of a server that has no tool of that name, as far as is known."""

    async def list_tools(*args, **kwargs):
        server = await module.__context__.catalog.described_async(module.__server__)
        if "list_tools" in server.by_alias:
            return await ToolFunction(module.__context__, module.__server__, "list_tools")(*args, **kwargs)
        return _docs.tools_metadata(server)

    return list_tools


def _described(module):
    return module.__context__.catalog.described(module.__server__)


def _functions(module):
    return {alias: ToolFunction(module.__context__, module.__server__, alias) for alias in _described(module).by_alias}


# Names of a module that are no tool's.
_CONTENTS = {
    "__all__": lambda module: [*_described(module).by_alias, "TOOLS", "TOOL_MAP"],
    "TOOLS": lambda module: _docs.tools_metadata(_described(module)),
    "TOOL_MAP": _functions,
}


class Servers:
    """mcp_servers: all servers, by their real names."""

    def __init__(self, context):
        self._context = context

    def __getitem__(self, name):
        return self._context.module(self._context.catalog.find(name))

    def __getattr__(self, name):
        if name.startswith("_"):  # of Python's protocols, such as copy's
            raise AttributeError(name)
        server = self._context.catalog.by_alias(name)
        if server is None:
            raise AttributeError(str(self._context.catalog.unavailable(name)))
        return self._context.module(server)

    def __iter__(self):
        return iter([server.name for server in self._context.catalog.servers()])

    def __len__(self):
        return len(self._context.catalog.servers())

    def __contains__(self, name):
        return name in list(self)

    def keys(self):
        return list(self)

    def values(self):
        return [self[name] for name in self]

    def items(self):
        return [(name, self[name]) for name in self]

    def get(self, name, default=None):
        return self[name] if name in self else default

    def __repr__(self):
        return f"<mcp_servers: {', '.join(map(repr, self)) or 'none'}>"


def _unpickle(server, alias=None):
    from . import _state

    module = _state.context.servers[server]
    return module if alias is None else getattr(module, alias)
