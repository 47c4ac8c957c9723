"""What can go wrong with a server or a tool, as exceptions."""

# Codes of docs/protocol.md.
_UNAVAILABLE = -32001
_CANCELLED = -32002
_DENIED = -32004
_INVALID_PARAMS = -32602


class MCPError(RuntimeError):
    """A server or tool cannot be used; the message says why."""

    __module__ = "mcp"


class ServerError(MCPError, KeyError):
    """There is no such server here; a KeyError, too, for who looks it up in mcp_servers."""

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
    """A tool answered with an error; the message is the server's own.

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
        """A text with the tool's name before it, unless it is in there."""
        if not self.tool or (self.tool in text and str(self.server) in text):
            return text
        return f"{self.server}.{self.tool}: {text}"

    def __repr__(self):
        return f"ToolError({self.named(str(self))!r})"


def from_remote(error, server=None, tool=None, arguments=None):
    """Return the exception for what the channel raised, or None where that is no answer of the host."""
    code = getattr(error, "code", None)
    if not isinstance(code, int):
        return None
    details = error.data if isinstance(error.data, dict) else {}
    message = _text(error.message, details)
    if code == _DENIED:
        return PolicyError(message, server=server, tool=tool, rule=details.get("rule"))
    if tool is None or code in (_UNAVAILABLE, _CANCELLED, _INVALID_PARAMS):
        return MCPError(message)
    return ToolError(
        message,
        server=server,
        tool=tool,
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
