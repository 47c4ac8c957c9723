"""What can go wrong with a server or a tool, as exceptions."""

# Codes of docs/protocol.md.
_FAILED = -32000
_UNAVAILABLE = -32001
_CANCELLED = -32002
_DENIED = -32004
_INVALID_PARAMS = -32602


class MCPError(RuntimeError):
    """A server or tool cannot be used; the message says why.

    code, data: those of a JSON-RPC error of the server's, where there is one.
    """

    __module__ = "mcp"
    code = data = None


class ServerError(MCPError, KeyError):
    """There is no such server here; a KeyError, too, for code that looks it up in mcp_servers."""

    __module__ = "mcp"
    __str__ = Exception.__str__  # KeyError's is that of a key


class PolicyError(MCPError):
    """The user's policy does not allow this call.

    server, tool: what was called. rule: the name of the rule that denied it, such as "deny:*.delete_*".
    """

    __module__ = "mcp"

    def __init__(self, message, *, server=None, tool=None, rule=None):
        super().__init__(message)
        self.server = server
        self.tool = tool
        self.rule = rule


class ToolError(MCPError):
    """A tool answered with an error; the message is the server's own, and the signature where arguments did not fit.

    server, tool, arguments: what was called with what. content: the blocks of the answer. code, data: those
    of a JSON-RPC error, None where the tool itself reported the error.
    """

    __module__ = "mcp"

    def __init__(self, message, *, server=None, tool=None, arguments=None, content=(), code=None, data=None):
        super().__init__(message)
        self.server = server
        self.tool = tool
        self.arguments = arguments
        self.content = list(content)
        self.code = code
        self.data = data

    def named(self, text):
        """A text with the call before it: of many side by side it would not be clear which it was."""
        if not self.tool:
            return text
        if self.tool in text and str(self.server) in text:
            return f"{text} ({_shown(self.arguments)})" if self.arguments else text
        return f"{self.server}.{self.tool}({_shown(self.arguments)}): {text}"

    def __repr__(self):
        return f"ToolError({self.named(str(self))!r})"


_MOST_SHOWN = 80  # characters of the arguments in an error


def _shown(arguments):
    """The arguments of a call, as far as they help to tell it from others."""
    items = arguments.items() if isinstance(arguments, dict) else ()
    shown = ", ".join(f"{name}={_short(value)}" for name, value in items)
    return shown if len(shown) <= _MOST_SHOWN else shown[:_MOST_SHOWN] + "…"


def _short(value):
    if isinstance(value, (dict, list)) and len(value) > 3:
        return "{…}" if isinstance(value, dict) else "[…]"
    return repr(value[:_MOST_SHOWN] if isinstance(value, str) else value)


_MISFIT = ("-32602", "validation error", "invalid arguments")  # in what a tool says of arguments of another type


def with_signature(message, signature, code=None):
    """What a server says of arguments that do not fit, and what would."""
    misfit = code == _INVALID_PARAMS or any(words in message[:400].lower() for words in _MISFIT)
    return f"{message}; it is {signature}" if misfit else message


def from_remote(error, server=None, tool=None, arguments=None, method=None):
    """Return the exception for what the channel raised, or None where that is no answer of the host.

    tool is the _catalog.Tool that was called, or method what the server was asked for instead.
    """
    code = getattr(error, "code", None)
    if not isinstance(code, int):
        return None
    details = error.data if isinstance(error.data, dict) else {}
    message = _text(error.message, details)
    if code == _DENIED:
        return PolicyError(message, server=server, tool=tool.name if tool else method, rule=details.get("rule"))
    if method and code == _FAILED:
        named = f'"{server}"' in message
        raised = MCPError(message if named else f"{server}.{method}({_shown(arguments)}): {message}")
        raised.code, raised.data = details.get("code"), details.get("data")
        return raised
    if tool is None or code in (_UNAVAILABLE, _CANCELLED, _INVALID_PARAMS):
        return MCPError(message)
    return ToolError(
        with_signature(message, tool.signature, details.get("code")),
        server=server,
        tool=tool.name,
        arguments=arguments,
        code=details.get("code"),
        data=details.get("data"),
    )


def _text(message, details):
    """The message with the host's hint, and the last lines the server wrote to stderr."""
    hint = (details.get("hint") or "").lstrip("; ")
    text = f"{message}; {hint}" if hint else message
    stderr = (details.get("stderr") or "").strip()
    if stderr and stderr not in text:
        text += "\nits stderr ends with:\n" + "\n".join("  " + line for line in stderr.splitlines())
    return text
