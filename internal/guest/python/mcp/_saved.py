"""Saved tools: functions that save_tool keeps for later sessions, and the functions that were kept."""

import re
import sys

from . import _functions, _state
from ._errors import MCPError, from_remote

_FunctionType = type(lambda: None)
_context = _state.context
_loaded = {}  # name -> (hash, function)


def save(function, replace):
    """Have the host keep a function; return it."""
    _ask("tools/save", {"source": _source(function), "replace": bool(replace)})
    return function


def names():
    """The names of the saved tools."""
    return [tool["name"] for tool in _ask("tools/saved", {})["tools"]]


def attribute(name):
    """What the module tools has by this name."""
    if name == "__all__":
        return names()
    function = None if name.startswith("_") else load(name)
    if function is None:
        raise AttributeError(f"there is no saved tool {name!r}; dir(tools) names those there are")
    return function


def load(name):
    """Return a saved tool as it is now, None if there is none. Nothing of it is executed before it is called."""
    found = _ask("tools/saved", {"name": name})["tools"]
    if not found:
        return None
    tool = found[0]
    kept = _loaded.get(name)
    if kept is None or kept[0] != tool["hash"]:
        kept = _loaded[name] = tool["hash"], _define(name, tool["source"])
        try:
            _provide(kept[1], tool)
        except BaseException:
            _loaded.pop(name, None)
            raise
    else:
        _provide(kept[1], tool)
    return kept[1]


def _define(name, source):
    from codemode_guest import frames

    filename = f"<tool {name}>"
    variables = {"__name__": "tools"}
    try:
        function = _functions.define(source, filename, variables)
    except _functions.Refused as error:
        raise MCPError(f"the saved tool {name!r} cannot be used: {error}") from None
    frames.add_source(filename, source)
    return function


def _provide(function, tool):
    """Give a tool the names that a run finds in place, and the saved tools that it calls."""
    from codemode_guest import compiled

    function.__globals__.update(_state.namespace(), mcp=sys.modules["mcp"])
    named = compiled.names(function.__code__)
    if "asyncio" in named:
        import asyncio

        function.__globals__["asyncio"] = asyncio
    if "tools" in named:
        import tools

        function.__globals__["tools"] = tools
    for name in tool.get("needs") or ():
        if name in _loaded:  # also while two that call each other are being loaded
            function.__globals__[name] = _loaded[name][1]
            continue
        other = load(name)
        if other is not None:
            function.__globals__[name] = other


def _source(function):
    """The text of a function as it was written, without the decorator that this is."""
    if type(function) is not _FunctionType:
        raise TypeError(f"save_tool takes a function, not {type(function).__name__}")
    name = function.__name__
    if name == "<lambda>":
        raise MCPError("save_tool takes a function with a name: write it with def")
    import inspect

    try:
        text = "".join(inspect.getsourcelines(function)[0])
    except (OSError, TypeError):
        raise MCPError(f"save_tool: the text of {name!r} is not known; define it in a run") from None
    if text[:1].isspace():
        import textwrap

        text = textwrap.dedent(text)
    return re.sub(r"\A@save_tool[ \t]*\n", "", text)


def _ask(method, params):
    try:
        return _context.catalog.channel.request_sync(method, params)
    except Exception as error:
        raise from_remote(error) or error from None
