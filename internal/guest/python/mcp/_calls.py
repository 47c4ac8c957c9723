"""Calls of tools: from a Python call to the host and back to a value."""

import sys
from _weakref import ref

from ._binding import bind, bind_dict
from ._errors import MCPError, from_remote
from ._tasks import Tasks
from ._values import value_of


class Calls:
    """Makes the coroutines that call tools, and knows which of them nobody awaited."""

    def __init__(self, catalog):
        self._catalog = catalog
        self._unawaited = {}  # ticket -> (name, reference to the coroutine)
        self._asked_again = set()  # names of servers
        self.tasks = Tasks()

    def by_alias(self, name, alias, args, kwargs, finish):
        """Return a coroutine that calls a tool as a function. What is wrong with a call is raised at once, unless
        the server has to be loaded first."""
        server = self._catalog.callable(name)
        label = f"mcp_{server.alias}.{alias}"
        if not server.loaded:
            return self._track(label, self._load_and_call, name, alias, args, kwargs, finish)
        tool, arguments = self._bound(server, tool_by_alias, alias, bind, args, kwargs)
        return self._track(label, self._call, server, tool, arguments, finish)

    def start(self, server, find, name, bind, *given):
        """Send a call, found and bound so, and return it as a Task. A server that is not loaded is waited for."""
        server = self._catalog.having(self._catalog.loaded_sync(server), name)
        tool, arguments = self._bound(server, find, name, bind, *given)
        return self.tasks.start(self._catalog.channel, server, tool, arguments)

    def start_by_name(self, server, tool, arguments):
        """start, by the real names, or the aliases; arguments are the schema's."""
        if arguments is not None and not hasattr(arguments, "items"):
            raise MCPError(f"arguments must be a dict, not {arguments!r}")
        return self.start(server, tool_by_name, tool, bind_dict, {} if arguments is None else arguments)

    async def by_name(self, server, tool, arguments, finish):
        """Call a tool by the real names, or the aliases; arguments are the schema's."""
        server = await self._catalog.having_async(await self._catalog.loaded(server), tool)
        if arguments is not None and not hasattr(arguments, "items"):
            raise MCPError(f"arguments must be a dict, not {arguments!r}; {tool_by_name(server, tool).signature}")
        given = {} if arguments is None else arguments
        tool, arguments = self._bound(server, tool_by_name, tool, bind_dict, given)
        return await self._send(server, tool, arguments, finish)

    def _bound(self, server, find, name, bind, *given):
        """Find a tool, and bind what a call gives to it. Where that cannot be, the server is asked once what it takes now:
        its list may be an earlier process's."""
        tool = find(server, name)
        try:
            return tool, bind(tool, *given)
        except TypeError:
            if server.name in self._asked_again:
                raise
            self._asked_again.add(server.name)
            try:
                server = self._catalog.relisted(server)
            except MCPError:
                server = None
            if server is None:
                raise
        tool = find(server, name)
        return tool, bind(tool, *given)

    def _track(self, label, function, *args):
        ticket = object()
        coroutine = function(ticket, *args)
        coroutine.__name__ = label.rpartition(".")[2]
        coroutine.__qualname__ = label
        self._unawaited[ticket] = label, ref(coroutine)
        return coroutine

    async def _load_and_call(self, ticket, name, alias, args, kwargs, finish):
        self._unawaited.pop(ticket, None)
        server = await self._catalog.having_async(await self._catalog.loaded(name), alias)
        tool, arguments = self._bound(server, tool_by_alias, alias, bind, args, kwargs)
        return await self._send(server, tool, arguments, finish)

    async def _call(self, ticket, server, tool, arguments, finish):
        self._unawaited.pop(ticket, None)
        return await self._send(server, tool, arguments, finish)

    async def _send(self, server, tool, arguments, finish):
        params = {"server": server.name, "tool": tool.name, "arguments": arguments}
        try:
            result = await self._catalog.channel.request("tools/call", params)
        except Exception as error:
            raise from_remote(error, server.name, tool, arguments) or error from None
        return finish(result, server.name, tool, arguments)

    def request(self, name, label, method, params, finish):
        """Return a coroutine that sends a server a request that is no call of a tool."""
        server = self._catalog.callable(name)
        return self._track(f"mcp_{server.alias}.{label}", self._request, server, method, params, finish)

    async def _request(self, ticket, server, method, params, finish):
        self._unawaited.pop(ticket, None)
        query = {"server": server.name, "method": method, "params": params}
        try:
            answer = await self._catalog.channel.request("request", query)
        except Exception as error:
            raise from_remote(error, server.name, arguments=params, method=method) or error from None
        return finish(answer)

    def end_run(self):
        """One note for each tool that was called and not awaited. Of coroutines in variables the runner tells."""
        notes = self.tasks.end_run()
        unawaited, self._unawaited = self._unawaited, {}
        held = list(vars(sys.modules["__main__"]).values())
        labels = []
        for label, reference in unawaited.values():
            coroutine = reference()  # None once it is destroyed
            if coroutine is None or not any(value is coroutine for value in held):
                labels.append(label)
        return notes + [f"`{label}()` was never awaited: write `await {label}(…)`" for label in dict.fromkeys(labels)]


def tool_by_alias(server, name):
    tool = server.by_alias.get(name) or server.by_name.get(name)
    if tool is None:
        raise no_tool(server, name, AttributeError)
    return tool


def tool_by_name(server, name):
    tool = server.by_name.get(name) or server.by_alias.get(name)
    if tool is None and isinstance(name, str):  # in any case, where that is clear
        alike = [tool for known, tool in server.by_name.items() if known.lower() == name.lower()]
        tool = alike[0] if len(alike) == 1 else None
    if tool is None:
        raise no_tool(server, name, MCPError)
    return tool


def no_tool(server, name, kind):
    error = kind(f"server {server.name!r} has no tool {name!r}{server.hint(name)}")
    if kind is AttributeError:
        error.obj = server  # or Python would add a suggestion of its own
    return error


def value(result, server, tool, arguments):
    """A finish that returns what code wants."""
    return value_of(result, server, tool, arguments)


def raw(result, server, tool, arguments):
    """A finish that returns the untouched result."""
    return result
