"""What servers have beside tools: mcp_x.resources and mcp_x.prompts."""

from ._convert import to_json
from ._errors import MCPError
from ._proxies import ToolFunction
from ._values import AttrDict, content_of, embedded, wrap


def _sends(method, value):
    """Make a method of one that returns the parameters of an MCP request; value makes what it returns of the answer.

    Its raw(…) returns the answer as the server sent it.
    """

    def decorate(prepare):
        def bound(namespace):
            params = prepare.__get__(namespace)

            def finishing(finish):
                def ask(*args, **kwargs):
                    return namespace._send(prepare.__name__, method, params(*args, **kwargs), finish)

                ask.__name__, ask.__doc__, ask.__wrapped__ = prepare.__name__, prepare.__doc__, params
                return ask

            ask = finishing(value)
            ask.raw = finishing(dict)
            return ask

        return property(bound)

    return decorate


def _entries(member):
    return lambda answer: wrap(_list(answer, member))


def _list(answer, member):
    """The objects in a list of an answer, as far as that is one."""
    items = answer.get(member)
    if not isinstance(items, list):
        raise MCPError(f"the server's answer has no list {member!r}")
    return [item for item in items if isinstance(item, dict)]


def _contents(answer):
    """A text as str, a blob as bytes; where there is not just one, a list of mcp.Resource."""
    resources = [embedded(content) for content in _list(answer, "contents")]
    if len(resources) == 1:
        text, data = resources[0].text, resources[0].data
        if text is not None or data is not None:
            return data if text is None else text
    return resources


def _messages(answer):
    messages = [AttrDict(role=m.get("role"), content=_content(m.get("content"))) for m in _list(answer, "messages")]
    return AttrDict(description=answer.get("description"), messages=messages)


def _content(content):
    if isinstance(content, list):
        return [_content(block) for block in content]
    return content_of(content) if isinstance(content, dict) else content


def _values(answer):
    values = (answer.get("completion") or {}).get("values")
    if not isinstance(values, list):
        raise MCPError("the server's answer has no completions")
    return values


class _Namenamespace(ToolFunction):
    """The requests of one kind. Called itself, it is the server's tool of that name, if there is one."""

    __slots__ = ()

    def _send(self, name, method, params, finish):
        return self._context.calls.request(self._server, f"{self._alias}.{name}", method, params, finish)

    def _complete(self, ref, argument, value, context):
        params = {"ref": ref, "argument": {"name": _named(argument, "name"), "value": _text("value", value)}}
        return {**params, "context": {"arguments": _arguments(context)}} if context else params

    def _known_tool(self):
        server = self._context.catalog.by_name(self._server)
        return server and server.by_alias.get(self._alias)

    @property
    def __signature__(self):
        if self._known_tool() is None:
            raise AttributeError("it is no tool")
        return ToolFunction.__signature__.fget(self)

    def __getattr__(self, name):
        if name.startswith("_"):
            return ToolFunction.__getattr__(self, name)
        raise AttributeError(f"{self.__qualname__} has no {name!r}; help({self.__qualname__}) tells what it has")

    def __repr__(self):
        return f"<{self.__qualname__}: help({self.__qualname__}) tells what it has>"


def _doc(namespace):
    usage, tool = namespace._usage.format(namespace.__qualname__), namespace._known_tool()
    return f"{usage}\n\n{namespace.__qualname__}(…) itself is a tool: {tool.signature}" if tool else usage


class Resources(_Namenamespace):
    __slots__ = ()
    __doc__ = property(_doc)
    _usage = (
        "await {0}.list()  # dicts: uri, name, description, mimeType\n"
        "await {0}.read(uri)  # its text, or bytes; a list of mcp.Resource where there are several\n"
        "await {0}.templates()  # dicts: uriTemplate, to be filled in and read; name, description\n"
        "await {0}.complete(template, argument, value)  # values that the argument may have\n"
        "async for update in {0}.subscribe(uri): ...  # each time the server says that it has changed"
    )

    def subscribe(self, uri):
        """Have the server tell of a resource's changes: an async iterator of updates, dicts with uri and dropped.

        It ends with `async with`, with its aclose(), or with the run. What is in the resource then, read(uri) returns.
        """
        from ._subscriptions import Subscription

        server = self._context.catalog.callable(self._server)
        label = f"mcp_{server.alias}.{self._alias}.subscribe"
        return Subscription(self._context.catalog.channel, server.name, label, _named(uri, "uri"))

    @_sends("resources/list", _entries("resources"))
    def list(self):
        """List the resources: dicts with uri, name, description, mimeType."""
        return {}

    @_sends("resources/templates/list", _entries("resourceTemplates"))
    def templates(self):
        """List the templates: dicts with uriTemplate, name, description."""
        return {}

    @_sends("resources/read", _contents)
    def read(self, uri):
        """Read a resource: return its text, or bytes; a list of mcp.Resource where there are several contents.

        uri: a text, or what list() or a tool's link says of the resource.
        """
        return {"uri": _named(uri, "uri")}

    @_sends("completion/complete", _values)
    def complete(self, template, argument, value="", context=None):
        """List values that begin with value, for an argument of a template. context: a dict of the other arguments."""
        ref = {"type": "ref/resource", "uri": _named(template, "uriTemplate")}
        return self._complete(ref, argument, value, context)


class Prompts(_Namenamespace):
    __slots__ = ()
    __doc__ = property(_doc)
    _usage = (
        "await {0}.list()  # dicts: name, description, arguments\n"
        "await {0}.get(name, **arguments)  # .description and .messages, each with .role and .content (a str, …)\n"
        "await {0}.complete(name, argument, value)  # values that the argument may have"
    )

    @_sends("prompts/list", _entries("prompts"))
    def list(self):
        """List the prompts: dicts with name, description, arguments."""
        return {}

    @_sends("prompts/get", _messages)
    def get(self, name, arguments=None, /, **more):
        """Get a prompt: its description and messages, each with a role and a content (a str, mcp.Image, mcp.Resource).

        Its arguments are keywords, or a dict.
        """
        return {"name": _named(name, "name"), "arguments": _arguments({**(arguments or {}), **more})}

    @_sends("completion/complete", _values)
    def complete(self, name, argument, value="", context=None):
        """List values that begin with value, for an argument of a prompt. context: a dict of the other arguments."""
        return self._complete({"type": "ref/prompt", "name": _named(name, "name")}, argument, value, context)


NAMESPACES = {"resources": Resources, "prompts": Prompts}


def _named(thing, key):
    """A name, or that of what a list says, or a link."""
    name = thing.get(key) if isinstance(thing, dict) else getattr(thing, key, thing)
    if not isinstance(name, str):
        raise TypeError(f"{key} must be a str, not {thing!r}")
    return to_json(key, name)


def _arguments(given):
    """Arguments as MCP has them here: texts."""
    return {key: _text(key, value) for key, value in given.items() if value is not None}


def _text(key, value):
    value = to_json(key, value)
    if isinstance(value, str):
        return value
    import json

    return json.dumps(value, ensure_ascii=False)
