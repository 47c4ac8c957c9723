"""A host for the mcp package: a channel that answers as docs/protocol.md says."""

import asyncio
import copy
import sys

from mcp import _state


class RemoteError(Exception):
    def __init__(self, code, message, data=None):
        super().__init__(message)
        self.code, self.message, self.data = code, message, data or {}


class Channel:
    """servers: {name: entry with tools}. answers: {(server, tool): result, exception or function of arguments}."""

    def __init__(self, servers=(), answers=None):
        self.servers = {server["name"]: server for server in servers}
        self.answers = answers or {}
        self.sent = []  # (method, params)
        self.delay = 0
        self.tools = {}  # saved ones: name -> {"source", "needs"}

    async def request(self, method, params):
        self.sent.append((method, copy.deepcopy(params)))
        await asyncio.sleep(self.delay)
        return self._answer(method, params)

    def request_sync(self, method, params):
        self.sent.append((method, copy.deepcopy(params)))
        return self._answer(method, params)

    def calls(self):
        return [params for method, params in self.sent if method == "tools/call"]

    def asked(self, method):
        return [params for sent, params in self.sent if sent == method]

    def _answer(self, method, params):
        if method == "tools/call":
            answer = self.answers.get((params["server"], params["tool"]), text("done"))
            answer = answer(params["arguments"]) if callable(answer) else answer
        elif method == "request":
            answer = self.answers[params["server"], params["method"]]
            answer = answer(params["params"]) if callable(answer) else answer
        elif method == "server":
            answer = self.servers[params["server"]]
            if isinstance(answer, dict):
                answer = {**answer, "loaded": params["load"]}
        elif method == "tools/saved":
            names = [params["name"]] if "name" in params else list(self.tools)
            answer = {"tools": [self._saved(name) for name in names if name in self.tools]}
        elif method == "tools/save":
            answer = self.answers.get(method, {})
        else:
            tools = [(s, t) for s in self.servers.values() for t in s["tools"] if params["query"] in t["description"]]
            matches = [{"server": s["name"], "serverAlias": s["alias"], "tool": t} for s, t in tools]
            answer = {"matches": matches[: params["limit"] or 5]}
        if isinstance(answer, Exception):
            raise answer
        return copy.deepcopy(answer)

    def _saved(self, name):
        tool = self.tools[name]
        return {"name": name, "hash": tool["source"], **tool}


def text(*texts):
    return {"content": [{"type": "text", "text": t} for t in texts]}


def param(name, type="str", required=False, **more):
    return {"name": name, "key": name, "type": type, "required": required, **more}


def tool(name, *params, **more):
    alias = more.pop("alias", name)
    shown = ", ".join(f"{p['name']}: {p['type']}" + ("" if p["required"] else " = None") for p in params)
    entry = {
        "name": name,
        "alias": alias,
        "description": f"The tool {name}",
        "inputSchema": {"type": "object", "properties": {p["key"]: {} for p in params}},
        "params": list(params),
        "returns": "Any",
        "signature": f"{alias}({shown}) -> Any",
    }
    return {**entry, **more}


def server(name, *tools, **more):
    return {"name": name, "alias": name, "loaded": True, "tools": list(tools), **more}


def unloaded(entry):
    """A server as the host tells of it before its tools are known."""
    return {**{key: value for key, value in entry.items() if key != "tools"}, "loaded": False}


GITHUB = server(
    "github",
    tool(
        "create_issue",
        param("repo", required=True, description="owner/name"),
        param("title", required=True),
        param("body"),
        {"name": "per_page", "key": "per-page", "type": "int", "required": False, "default": 30},
        param("milestone", "int | None"),
        signature="create_issue(repo: str, title: str, body: str | None = None, per_page: int = 30) -> dict",
        returns="dict",
    ),
    tool("list_issues"),
    description="Issues and pull requests",
)


def start(*servers, answers=None, selected=None, lazy=False):
    """Begin a run of a new session; return its channel."""
    for name in [name for name in sys.modules if name.startswith("mcp.servers.")]:
        del sys.modules[name]
    channel = Channel(servers, answers)
    _state.attach(channel)
    _state.end_run()
    old = [server.name for server in _state.context.catalog.servers()]
    _state.update({"removed": old, "servers": [unloaded(s) if lazy else s for s in servers]})
    _state.begin_run(selected)
    return channel


def names():
    return _state.namespace()
