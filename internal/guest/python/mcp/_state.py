"""What the mcp package knows, and the functions by which the guest's runner keeps it so."""

from ._calls import Calls
from ._catalog import Catalog
from ._names import listed, nearest
from ._proxies import ServerModule, Servers

# The functions of mcp.runtime, which imports this module: its __all__ without save_tool. test_modules.py compares them.
_HELPERS = frozenset(
    "call_tool capability_summary describe_server discovered_servers list_loaded_server_metadata list_servers "
    "list_servers_sync list_tools list_tools_sync query_tool_docs query_tool_docs_sync request_packages "
    "request_server search_tool_docs search_tool_docs_sync start_tool".split()
)


class Context:
    """The catalog, the calls under way, and the one module of every server."""

    def __init__(self):
        self.catalog = Catalog()
        self.calls = Calls(self.catalog)
        self.servers = Servers(self)
        self.given = {}
        self._modules = {}  # alias -> ServerModule

    def module(self, server):
        """Return the module of a _catalog.Server."""
        module = self._modules.get(server.alias)
        if module is None or module.__server__ != server.name:
            module = self._modules[server.alias] = ServerModule(self, server)
        return module


context = Context()


def attach(channel, given=None, give=None):
    """Talk to the host through this channel; the first call of all. given: more names that code finds in place.

    give puts names in place for the run that is under way.
    """
    context.catalog.channel = channel
    context.given = given or {}
    context.give = give or (lambda names: None)


def update(news):
    """Take a guest.CatalogUpdate; in any thread."""
    context.catalog.update(news)


def begin_run(selected):
    """A run begins that may call these servers; None: all."""
    context.catalog.selected = None if selected is None else frozenset(selected)


def end_run():
    """Return a note for each thing that the run forgot."""
    return context.calls.end_run()


def selectable():
    """The names of the servers that this run may call."""
    return tuple(server.name for server in context.catalog.selectable())


def loaded_servers():
    return tuple(server.name for server in context.catalog.selectable() if server.loaded)


def namespace():
    """Return the names that user code finds in place."""
    from . import runtime

    names = {f"mcp_{server.alias}": context.module(server) for server in context.catalog.servers()}
    return {
        **context.given,
        "mcp_runtime": runtime,
        **names,
        "mcp_servers": context.servers,
        "runtime": runtime,
        "discovered_servers": runtime.discovered_servers,
        "LOADED_MCP_SERVERS": loaded_servers(),
        "save_tool": save_tool,
    }


def save_tool(function, *, replace=False):
    """Keep a function for later sessions, where `from tools import NAME` has it; return it.

    It must stand on its own: imports belong into its body. replace: even where another one has its name.
    """
    from . import _saved

    return _saved.save(function, replace)


def suggest(name):
    """Return what an undefined name was meant to be, as a phrase for its NameError; None for no idea."""
    servers = context.catalog.servers()
    names = [f"mcp_{server.alias}" for server in servers]
    if name in names:  # configured after the run had begun
        return f"`{name}` is new: run the code again"
    why = context.catalog.why_not(name[len("mcp_") :] if name.startswith("mcp_") else name)
    if why:
        return why
    call = _client_style_call(name, servers)
    if call:
        return f"did you mean `{call}`?"
    if name.startswith("mcp"):
        meant = nearest(name, [*names, "mcp_servers"])
        return f"did you mean `{meant}`?" if meant else _there_are(names) if names else _there_is_none()
    if name in _HELPERS:
        return f"did you mean `runtime.{name}`?"
    for server in servers:
        if name in (server.name, server.alias):
            return f"did you mean `mcp_{server.alias}`?"
    calls = {tool.alias: server.call_form(tool.alias) for server in servers for tool in server.tools or ()}
    meant = name if name in calls or len(name) < 4 else nearest(name, calls)
    return f"did you mean `{calls[meant]}`?" if meant in calls else None


def _client_style_call(name, servers):
    """Return the call that is meant by mcp__SERVER__TOOL, as clients call tools that they list themselves."""
    if not name.startswith("mcp_"):
        return None
    words = name[len("mcp_") :].strip("_")
    for server in sorted(servers, key=lambda server: -len(server.alias)):
        if words.startswith(server.alias + "_"):
            tool = words[len(server.alias) :].strip("_")
            known = [known.alias for known in server.tools or ()]
            meant = nearest(tool, known) if known else tool
            return meant and server.call_form(meant)
    return None


def instead(module, name):
    """Return what to use instead of a name that one of codemode's own modules does not have; None for another module."""
    if module == "mcp.runtime":
        meant = nearest(name, _HELPERS)
        return f"did you mean `runtime.{meant}`?" if meant else "help(runtime) tells what it has"
    if module == "mcp.servers":
        return suggest(f"mcp_{name}")
    if module == "tools":
        return "dir(tools) names the saved functions"
    if module != "mcp":
        return None
    if name in _HELPERS:
        return f"did you mean `runtime.{name}`?"
    return "this `mcp` is codemode's, whose servers are connected: `await mcp_SERVER.TOOL(...)`"


def _there_is_none():
    cannot = listed(context.catalog.unusable())
    if cannot:
        return f"no MCP server can be used; there are {cannot}: `mcp_servers['NAME']` says why"
    return "no MCP server is configured; the user can: codemode servers add"


def _there_are(names):
    names = listed(names)
    return f"there are {names}" if names else None
