"""The module __main__ that user code runs in, and the names codemode puts there."""

from .early import builtins as __builtins__

import sys
from _thread import allocate_lock

from . import compiled

# Names of _state.namespace() besides mcp_<alias>: code that uses one has the mcp package imported. What is added here
# or to ARTIFACT_NAMES belongs into _GIVEN of mcp/_functions.py, too.
MCP_NAMES = {"runtime", "LOADED_MCP_SERVERS", "save_tool", "discovered_servers"}
ARTIFACT_NAMES = {"artifact", "artifacts"}


class Namespace:
    def __init__(self, channel, hooks, display):
        self.module = type(sys)("__main__")
        self.globals = vars(self.module)
        self._channel = channel
        self._given = {}  # what codemode put into globals
        self._lock = allocate_lock()
        self._state = None  # mcp._state, once somebody needs it
        self._news = None  # one catalog update for all that it has not seen
        self._later = False  # the host says what servers there are when it is asked
        self._selected = None
        self._kept = None  # the names of artifacts, once somebody needs them
        self._give({"display": display})
        hooks.after("mcp._state", self._attach)

    def begin(self, params):
        """Make __main__ ready for a run: sys.modules and names that an earlier run may have taken away."""
        sys.modules["__main__"] = self.module
        self.globals["__name__"] = "__main__"
        self.globals["__builtins__"] = sys.modules.get("builtins") or __builtins__
        if params.get("script"):
            self.globals["__file__"] = params["filename"]
        sys.argv = list(params.get("argv") or [""])
        self._selected = params.get("selected")
        catalog = params.get("catalog") or {}
        if catalog.get("later"):
            self._later = True
        elif catalog:
            self.update(catalog)
        if self._state is not None:
            self._state.begin_run(self._selected)

    def update(self, update):
        """Take news of servers and tools; in the reader thread, too."""
        with self._lock:
            if self._state is None:
                self._news = _both(self._news or {}, update)
                return
        self._state.update(update)

    def provide(self, code):
        """Put the names into globals that a run's code is going to look for."""
        names = set(compiled.names(code))
        if "asyncio" in names and "asyncio" not in self.globals:
            import asyncio

            self._give({"asyncio": asyncio})
        if any(name.startswith("mcp") for name in names) or not names.isdisjoint(MCP_NAMES):
            self._give_mcp({"mcp": self._mcp() and sys.modules["mcp"], **self._state.namespace()})
        if not names.isdisjoint(ARTIFACT_NAMES):
            self._give(self._artifacts())
        if "tools" in names and "tools" not in self.globals:
            import tools

            self._give({"tools": tools})

    def keep_value(self, value):
        """Make a value that is too long to show what `_` is, as Python's prompt does: code can go on with it."""
        self.globals["_"] = value

    def end_run(self):
        return self._state.end_run() if self._state is not None else []

    def suggest(self, name):
        """What a misspelt name was meant to be, if a server's."""
        if not self._has_news() and not name.startswith("mcp_"):
            return None
        return self._mcp().suggest(name)

    def servers(self):
        """The names of the servers that this run may call."""
        return self._mcp().selectable() if self._has_news() else ()

    def _has_news(self):
        try:
            self._ask()
        except Exception:  # the run is being ended
            return False
        return self._state is not None or self._news is not None

    def _ask(self):
        """Ask for the servers, where the host has put off to look for them until code does."""
        if self._later:
            update = self._channel.request_sync("servers", {})
            self._later = False
            if any(update.values()):
                self.update(update)

    def _mcp(self):
        # Each time: code may have taken it out of sys.modules, or been stopped in an import of its own.
        import mcp._state

        return self._state

    def _attach(self, state):
        state.attach(self._channel, {"display": self._given["display"], **self._artifacts()}, self._give)
        self._ask()
        with self._lock:
            news, self._news = self._news, None
            self._state = state
            if news is not None:  # before any that comes from now on
                state.update(news)
        state.begin_run(self._selected)

    def _artifacts(self):
        if self._kept is None:
            from . import artifacts

            self._kept = artifacts.make(self._channel)
        return self._kept

    def _give(self, names):
        for name, value in names.items():
            if name not in self.globals or self.globals[name] is self._given.get(name, self):
                self.globals[name] = self._given[name] = value

    def _give_mcp(self, names):
        """Give the names of servers, and take away those of servers that are gone."""
        self._give(names)
        for name in [n for n in self._given if n.startswith("mcp_") and n not in names]:
            if self.globals.get(name) is self._given.pop(name):
                del self.globals[name]


def _both(before, after):
    """One update for two. Of a server the last entry is enough, and some change their tools all the time."""
    servers = {entry["name"]: entry for entry in before.get("servers") or ()}
    for name in after.get("removed") or ():
        servers.pop(name, None)
    servers.update((entry["name"], entry) for entry in after.get("servers") or ())
    both = {**before, **after, "servers": list(servers.values())}
    both.pop("removed", None)
    return both
