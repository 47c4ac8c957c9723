"""The servers and tools as the host describes them, loaded when they are needed."""

import sys
from _thread import allocate_lock, start_new_thread

from ._errors import MCPError, ServerError, from_remote
from ._names import listed, nearest

_SIDE_BY_SIDE = 8  # servers asked for at once


# What MCP's own clients call what is no tool.
_BESIDE = {
    "list_resources": "resources.list()",
    "list_resource_templates": "resources.templates()",
    "read_resource": "resources.read(uri)",
    "list_prompts": "prompts.list()",
    "get_prompt": "prompts.get(name)",
}


class Tool:
    """One tool: the members of guest.Tool, and its parameters by name and by key."""

    def __init__(self, entry):
        self.name = entry["name"]
        self.alias = entry["alias"]
        self.description = entry.get("description") or ""
        self.input_schema = entry.get("inputSchema")
        self.output_schema = entry.get("outputSchema")
        self.params = entry.get("params") or []
        self.extra = entry.get("extra", False)
        self.returns = entry.get("returns") or "Any"
        self.wrapped = entry.get("wrapped", False)
        self.signature = entry.get("signature") or f"{self.alias}()"
        self.summary = entry.get("summary") or self.description
        self.call = entry.get("call")
        self.policy = entry.get("policy")
        self.by_name = {param["name"]: param for param in self.params}
        self.by_key = {param["key"]: param for param in self.params}


class Server:
    """One server. tools is None as long as they are not known; loaded: the host has it ready for calls."""

    def __init__(self, entry, known=False):
        self.name = entry["name"]
        self.alias = entry["alias"]
        self.description = entry.get("description") or ""
        self.cwd = entry.get("cwd")
        self.loaded = entry.get("loaded", False)
        self.tools = None
        if known or self.loaded or entry.get("tools"):
            self.tools = [Tool(tool) for tool in entry.get("tools") or []]
        self.by_alias = {tool.alias: tool for tool in self.tools or []}
        self.by_name = {tool.name: tool for tool in self.tools or []}

    def has(self, tool):
        return tool in self.by_name or tool in self.by_alias

    def nearest_call(self, name):
        """The call that a tool's misspelt name was meant to be, or None."""
        meant = nearest(name, self.by_alias)
        return self.call_form(meant) if meant else None

    def call_form(self, alias):
        return f"await mcp_{self.alias}.{alias}(…)"

    def hint(self, name):
        """What to say of a tool that does not exist."""
        if isinstance(name, str) and name in _BESIDE:
            return f"; did you mean `await mcp_{self.alias}.{_BESIDE[name]}`?"
        call = self.nearest_call(name)
        if call:
            return f"; did you mean `{call}`?"
        names = listed(self.by_alias)
        return f"; it has {names}" if names else ""


class Catalog:
    """All servers. A Server is never changed but replaced: the reader thread brings news at any time."""

    def __init__(self):
        self.channel = None
        self.selected = None  # real names of the servers this run may call; None: all
        self._servers = {}
        self._unusable = ()  # of the host's entries: name, alias, why
        self._lock = allocate_lock()
        self._loading = {}  # (event loop, name) -> future of a load under way

    def update(self, update):
        with self._lock:
            servers = dict(self._servers)
            for name in update.get("removed") or ():
                servers.pop(name, None)
            for entry in update.get("servers") or ():
                servers[entry["name"]] = Server(entry)
            self._servers = servers
            self._unusable = update.get("unusable", self._unusable)

    def why_not(self, name):
        """What to say of a server that is configured and cannot be used; None where there is none of that name."""
        return next((entry["why"] for entry in self._unusable if name in (entry["name"], entry["alias"])), None)

    def unusable(self):
        """The names of servers that are configured and cannot be used."""
        return [entry["name"] for entry in self._unusable]

    def servers(self):
        return list(self._servers.values())

    def selectable(self):
        """The servers that this run may call."""
        return [server for server in self.servers() if self.selected is None or server.name in self.selected]

    def find(self, name):
        """Return the server of that real name or alias, as code calls it, too; MCPError if there is none."""
        name = getattr(name, "__server__", name)  # of mcp_<alias> itself
        server = self.by_name(name) if isinstance(name, str) else None
        if server is None:
            server = self.by_alias(name)
        if server is None and isinstance(name, str) and name.startswith("mcp_"):
            server = self.by_alias(name[len("mcp_") :])
        if server is None:
            raise self.unavailable(name)
        return server

    def by_name(self, name):
        return self._servers.get(name)

    def by_alias(self, alias):
        return next((server for server in self.servers() if server.alias == alias), None)

    def callable(self, name):
        """find, and MCPError if this run may not call the server."""
        server = self.find(name)
        if self.selected is not None and server.name not in self.selected:
            raise self.unavailable(name)
        return server

    def unavailable(self, name):
        message = f"Server {name!r} is not available"
        selectable = [server.name for server in self.selectable()]
        if any(name in (server.name, server.alias) for server in self.servers()):  # but not selected
            given = listed(map(repr, selectable)) if selectable else "none"
            return ServerError(f"{message}: this run was given {given or 'others'}")
        why = self.why_not(name)
        if why:
            return ServerError(why)
        meant = nearest(name, selectable)
        if meant:
            return ServerError(f"{message}; did you mean {meant!r}?")
        names = listed(map(repr, selectable))
        return ServerError(f"{message}; there are {names}" if names else message)

    # Loading. A server that is to be called is loaded; one that is to be described need not be.

    def loaded_sync(self, name):
        """Return a server ready to be called, blocking until it is."""
        server = self.callable(name)
        return server if server.loaded else self._ask(server, True)

    def described(self, name):
        """Return a server whose tools are known, blocking until they are."""
        server = self.find(name)
        return server if server.tools is not None else self._ask(server, False)

    async def described_async(self, name):
        server = self.find(name)
        if server.tools is not None:
            return server
        return self._learn(await self._request(server, False))

    def relisted(self, server):
        """Ask a server for its tools once more, blocking, for a name that was not among them."""
        return self._ask(server, server.loaded, fresh=True)

    async def relisted_async(self, server):
        return self._learn(await self._request(server, server.loaded, fresh=True))

    # What is known of a server may be what it told an earlier process, whose client could do less.

    def having(self, server, tool):
        """A server, asked once more for its tools if that is none of them, blocking."""
        return server if server.has(tool) else self.relisted(server)

    async def having_async(self, server, tool):
        return server if server.has(tool) else await self.relisted_async(server)

    def described_all(self, names):
        """Describe servers side by side, since each may have to be started; those that fail are left out."""
        servers = {}
        todo = list(names)

        def work():
            while todo:
                try:
                    name = todo.pop()
                except IndexError:  # another thread was faster
                    return
                try:
                    servers[name] = self.described(name)
                except MCPError:
                    pass

        unknown = sum(self.find(name).tools is None for name in names)
        finished = [_in_thread(work) for _ in range(min(unknown, _SIDE_BY_SIDE) - 1)]
        work()
        for lock in finished:
            lock.acquire()
        return [servers[name] for name in names if name in servers]

    def _ask(self, server, load, fresh=False):
        try:
            entry = self.channel.request_sync("server", _query(server, load, fresh))
        except Exception as error:
            raise from_remote(error) or error from None
        return self._learn(entry)

    async def _request(self, server, load, fresh=False):
        try:
            return await self.channel.request("server", _query(server, load, fresh))
        except Exception as error:
            raise from_remote(error) or error from None

    async def loaded(self, name):
        """Return a server ready to be called. Calls that need it at the same time wait for one load."""
        while True:
            server = self.callable(name)
            if server.loaded:
                return server
            loop = _running_loop()
            if loop is None:
                return self.loaded_sync(name)
            waiting = self._loading.get((loop, server.name))
            if waiting is None:
                return await self._load(server, loop)
            from asyncio import shield

            error = await shield(waiting)  # the others go on waiting if this one is cancelled
            if error is not None:
                raise MCPError(str(error))

    async def _load(self, server, loop):
        error = None
        waiting = self._loading[loop, server.name] = loop.create_future()
        try:
            return self._learn(await self._request(server, True))
        except Exception as raised:
            error = raised
            raise
        finally:
            del self._loading[loop, server.name]
            waiting.set_result(error)

    def _learn(self, entry):
        server = Server(entry, known=True)
        with self._lock:
            self._servers = {**self._servers, server.name: server}
        return server


def _query(server, load, fresh):
    query = {"server": server.name, "load": load}
    return {**query, "fresh": True} if fresh else query


def _running_loop():
    asyncio = sys.modules.get("asyncio")
    return asyncio._get_running_loop() if asyncio else None


def _in_thread(work):
    """Run work in a thread; return a lock that is free once it has ended."""
    done = allocate_lock()
    done.acquire()

    def run():
        try:
            work()
        finally:
            done.release()

    start_new_thread(run, ())
    return done
