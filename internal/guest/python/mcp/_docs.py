"""Servers and tools described: for helpers, for help(), for inspect."""

from ._values import AttrDict


class Found(list):
    """Documents of tools: a list of dicts whose repr is a short text about them."""

    def __init__(self, docs=(), text=None):
        super().__init__(docs)
        self._text = text

    def __repr__(self):
        return list.__repr__(self) if self._text is None else self._text

    def __reduce__(self):
        return Found, (list(self), self._text)


class One(Found):
    """The document of one tool: a list of it, as the original had, and that document itself."""

    def __getitem__(self, key):
        return self[0][key] if isinstance(key, str) else list.__getitem__(self, key)

    def __getattr__(self, name):
        if name.startswith("_") or not self:  # while it is copied it is empty
            raise AttributeError(name)
        return getattr(self[0], name)

    def __reduce__(self):
        return One, (list(self),)


_WHOLE = 20  # tools of a server that are shown with what they do; of the others the names


def listing(server, docs):
    """The documents of a server's tools, whose repr is as a search would show them."""
    lines = []
    for tool in server.tools[:_WHOLE]:
        about = f"{tool.summary} ({tool.policy})" if tool.policy else tool.summary
        lines.append(tool.call or f"await mcp_{server.alias}.{tool.signature}")
        lines += [f"    {_visible(about)}"] if about else []
    more = [tool.alias for tool in server.tools[_WHOLE:]]
    if more:
        lines.append(f"more: mcp_{server.alias}: {', '.join(more)}")
    return Found(docs, "\n".join(lines) or f"server {server.name!r} has no tools")


class Described(AttrDict):
    """What a helper says of a server or tool, by the names that the Python original had, too."""

    __slots__ = ()

    def __missing__(self, name):
        if name == "inputSchema" and "input_schema" in self:
            return self["input_schema"]
        raise KeyError(name)

    def __getattr__(self, name):
        return self[name] if name == "inputSchema" and name not in self else AttrDict.__getattr__(self, name)

    def __await__(self):
        """What is there already, for code that awaits it like what its neighbours return."""
        return self
        yield

    def __repr__(self):
        """As the original printed it: a cwd of None is there, and not shown."""
        return repr({key: value for key, value in self.items() if (key, value) != ("cwd", None)})

    def get(self, name, default=None):
        try:
            return self[name]
        except KeyError:
            return default

    def copy(self):
        return Described(self)

    def __reduce__(self):
        return Described, (dict(self),)


def metadata(server):
    """What list_loaded_server_metadata says of a server."""
    tools = [tool_metadata(tool) for tool in server.tools]
    return Described(name=server.name, alias=server.alias, tools=tools, cwd=server.cwd or None)


def tools_metadata(server):
    """What list_tools says of a server's tools."""
    return listing(server, [tool_metadata(tool) for tool in server.tools])


def tool_metadata(tool):
    return Described(
        name=tool.name, alias=tool.alias, description=tool.description, input_schema=_schema(tool.input_schema)
    )


def doc(server_name, server_alias, tool, detail):
    """What query_tool_docs and search_tool_docs say of a tool."""
    described = AttrDict(
        server=server_name,
        serverAlias=server_alias,
        tool=tool.name,
        toolAlias=tool.alias,
        description=tool.description if detail == "full" else tool.summary,
    )
    if tool.call:
        described["call"] = tool.call
    if tool.policy:
        described["policy"] = tool.policy
    if detail == "full":
        described["inputSchema"] = _schema(tool.input_schema)
        if tool.output_schema is not None:
            described["outputSchema"] = _schema(tool.output_schema)
        described["signature"] = tool.signature
    return described


def _schema(schema):
    """A copy: what a program does to its documents must not reach the catalog."""
    if isinstance(schema, dict):
        return AttrDict((key, _schema(value)) for key, value in schema.items())
    return [_schema(item) for item in schema] if isinstance(schema, list) else schema


def text(tool):
    """The docstring of a tool's function."""
    lines = [tool.description.strip()] if tool.description.strip() else []
    if tool.policy:
        lines += [f"The {tool.policy}."]
    if tool.params:
        lines += ["", "Parameters:"] if lines else ["Parameters:"]
        for param in tool.params:
            about = " ".join((param.get("description") or "").split())
            need = "" if param["required"] else ", optional"
            lines.append(f"    {param['name']} ({param['type']}{need})" + (f": {about}" if about else ""))
    return _visible("\n".join(lines))


def _visible(words):
    """A server's words without what a terminal would obey, or what hides other words."""
    return "".join(c if c.isprintable() or c in "\n\t" else ascii(c)[1:-1] for c in words.replace("\xa0", " "))


def signature(tool):
    """The inspect.Signature of a tool's function; annotations are strings."""
    from inspect import Parameter, Signature

    parameters = []
    for param in tool.params:
        default, annotation = Parameter.empty, param["type"]
        if not param["required"]:
            default = param.get("default")
            if default is None and annotation != "Any" and not annotation.endswith("None"):
                annotation += " | None"
        kind = Parameter.POSITIONAL_OR_KEYWORD
        parameters.append(Parameter(param["name"], kind, default=default, annotation=annotation))
    if tool.extra:
        name = "kwargs"
        while name in tool.by_name:
            name += "_"
        parameters.append(Parameter(name, Parameter.VAR_KEYWORD))
    return Signature(parameters, return_annotation=tool.returns)
