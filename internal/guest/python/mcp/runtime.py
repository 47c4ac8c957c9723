"""Find, describe and call the tools of MCP servers, loaded or not. What ends in _sync works in plain functions, too.

    await runtime.search_tool_docs("what to do")         tools that fit, as calls to paste
    await runtime.query_tool_docs("server")              all tools of a server; ("server", "tool", detail="full") one
    runtime.discovered_servers(), runtime.describe_server("server")
    await runtime.call_tool("server", "tool", {...})     by real names; else: await mcp_server.tool(...)
    await mcp_server.resources.list(), .read(uri); await mcp_server.prompts.list(), .get(name)    where it has them
"""

from . import _docs
from ._calls import tool_by_name, value
from ._catalog import Tool
from ._errors import MCPError, from_remote
from ._state import context as _context
from ._state import save_tool

__all__ = [
    "call_tool",
    "capability_summary",
    "describe_server",
    "discovered_servers",
    "list_loaded_server_metadata",
    "list_servers",
    "list_servers_sync",
    "list_tools",
    "list_tools_sync",
    "query_tool_docs",
    "query_tool_docs_sync",
    "request_packages",
    "request_server",
    "save_tool",
    "search_tool_docs",
    "search_tool_docs_sync",
    "start_tool",
]

_MOST = 20  # documents of one search

_catalog = _context.catalog


def discovered_servers(detailed=False):
    """Return the names of the servers that this run may call; detailed: a {"name", "description"} of each."""
    servers = _catalog.selectable()
    if not detailed:
        return _AwaitableTuple(server.name for server in servers)
    return _AwaitableTuple(_docs.AttrDict(name=server.name, description=server.description) for server in servers)


class _AwaitableTuple(tuple):
    """A tuple that may be awaited, too: most of what runtime has must be."""

    def __await__(self):
        return self
        yield


def list_servers_sync():
    """Return the names of the servers that this run may call."""
    return tuple(server.name for server in _catalog.selectable())


async def list_servers():
    """Return the names of the servers that this run may call."""
    return list_servers_sync()


def list_loaded_server_metadata():
    """Return {"name", "alias", "tools", "cwd"} of every server that this run may call."""
    names = [server.name for server in _catalog.selectable()]
    return tuple(_docs.metadata(server) for server in _catalog.described_all(names))


def describe_server(name):
    """Return {"name", "alias", "tools", "cwd"} of one server that this run may call."""
    return _docs.metadata(_catalog.described(_catalog.callable(name).name))


def list_tools_sync(server):
    """Return {"name", "alias", "description", "input_schema"} of each tool of a server."""
    return _docs.tools_metadata(_catalog.described(server))


async def list_tools(server):
    """Return {"name", "alias", "description", "input_schema"} of each tool of a server."""
    await _catalog.described_async(server)
    return list_tools_sync(server)


def query_tool_docs_sync(server, tool=None, detail="summary"):
    """Return the documents of a server's tools, or of one; detail="full" adds schemas and signature."""
    _check(detail)
    server = _catalog.described(server)
    return _documents(server if tool is None else _catalog.having(server, tool), tool, detail)


def _documents(server, tool, detail):
    if tool is not None:
        return _docs.One([_docs.doc(server.name, server.alias, tool_by_name(server, tool), detail)])
    docs = [_docs.doc(server.name, server.alias, tool, detail) for tool in server.tools]
    return docs if detail == "full" else _docs.listing(server, docs)


async def query_tool_docs(server, tool=None, detail="summary"):
    """Return the documents of a server's tools, or of one; detail="full" adds schemas and signature."""
    _check(detail)
    server = await _catalog.described_async(server)
    return _documents(server if tool is None else await _catalog.having_async(server, tool), tool, detail)


def search_tool_docs_sync(query, *, limit=None, detail="summary"):
    """Return the documents of the tools that fit a query best: usually 5, at most 20. Printed, they are short."""
    try:
        found = _catalog.channel.request_sync("search", _query(query, limit, detail))
    except Exception as error:
        raise from_remote(error) or error from None
    return _found(found, detail)


async def search_tool_docs(query, *, limit=None, detail="summary"):
    """Return the documents of the tools that fit a query best: usually 5, at most 20. Printed, they are short."""
    try:
        found = await _catalog.channel.request("search", _query(query, limit, detail))
    except Exception as error:
        raise from_remote(error) or error from None
    return _found(found, detail)


async def call_tool(server, tool, arguments=None):
    """Call a tool by the real names of server and tool, with a dict of arguments; return its value."""
    return await _context.calls.by_name(server, tool, arguments, value)


def start_tool(server, tool, arguments=None):
    """Start a call by the real names of server and tool, and go on: return a task, whose result `await task` is."""
    return _context.calls.start_by_name(server, tool, arguments)


async def request_server(server, reason):
    """Ask the user to add a server, and return it, as mcp_NAME is it then; PolicyError for a no, or nobody to ask.

    server is its name in the MCP registry, "io.github.someone/server", or an entry with a name of yours:
    {"name": "notes", "command": "npx", "args": ["-y", "PACKAGE"]}, or {"name": "docs", "url": "https://…"}.
    """
    query = {"name": server, "reason": reason}
    if isinstance(server, dict):
        entry = dict(server)
        query = {"name": entry.pop("name", None), "entry": entry, "reason": reason}
    if not isinstance(query["name"], str) or not isinstance(reason, str):
        raise MCPError("request_server takes a server's name or an entry with a \"name\", and a reason; all of these are strings")
    try:
        added = await _catalog.channel.request("servers/add", query)
    except Exception as error:
        raise from_remote(error) or error from None
    module = _context.servers[added["name"]]
    _context.give({f"mcp_{_catalog.find(added['name']).alias}": module})
    return module


async def request_packages(*packages, reason):
    """Ask the user to add packages by name, "pandas" or "polars>=1", to be imported at once; return what was added.

    PolicyError is a no, or nobody to ask.
    """
    if not packages or not all(isinstance(text, str) for text in (*packages, reason)):
        raise MCPError("request_packages takes names of packages and a reason, all of them strings: (\"pandas\", reason=\"…\")")
    try:
        added = await _catalog.channel.request("packages/add", {"names": packages, "reason": reason})
    except Exception as error:
        raise from_remote(error) or error from None
    from codemode_guest import frames

    frames.add_first_library(added["path"])
    return tuple(added["packages"])


def capability_summary():
    """Return one paragraph on what this sandbox can do."""
    servers = _catalog.selectable()
    calls = " Each is an object: `await mcp_<alias>.<tool>(…)`, also `mcp_servers[\"name\"]`." if servers else ""
    return (
        f"Python with top-level await in a sandbox without network; variables persist within a session. "
        f"MCP servers of this run: {_named([server.name for server in servers])}.{calls} "
        "`await runtime.search_tool_docs(\"what to do\")` finds tools, `await runtime.query_tool_docs(server)` lists "
        "those of a server, help(mcp_<alias>.<tool>) explains one. `save_tool(function)` keeps a function for later "
        "sessions: `from tools import name`."
    )


_MOST_NAMED = 1000  # characters of servers' names in the summary


def _named(names):
    """Names with commas, as many as have room."""
    shown, room = [], _MOST_NAMED
    for name in names:
        room -= len(name) + 2
        if room < 0:
            return f"{', '.join(shown)} and {len(names) - len(shown)} more, which `runtime.discovered_servers()` lists"
        shown.append(name)
    return ", ".join(shown) or "none"


def _check(detail):
    if detail not in ("summary", "brief", "full"):  # the second is the first
        raise MCPError(f'detail must be "summary" or "full", not {detail!r}')


def _query(query, limit, detail):
    _check(detail)
    if not isinstance(query, str):
        raise MCPError(f"query must be a string, not {query!r}")
    if limit is None:
        return {"query": query, "limit": 0}
    if not isinstance(limit, int):
        raise MCPError(f"limit must be a number from 1 to {_MOST}, not {limit!r}")
    return {"query": query, "limit": max(1, min(limit, _MOST))}


def _found(found, detail):
    matches = found.get("matches") or []
    docs = [_docs.doc(match["server"], match["serverAlias"], Tool(match["tool"]), detail) for match in matches]
    return docs if detail == "full" else _docs.Found(docs, found.get("text"))
