"""The user's MCP servers as Python.

Tools are coroutine functions: `await mcp_github.create_issue(repo="o/r", title="t")`, or after
`from mcp.servers.github import *` just `await create_issue(…)`. `mcp.runtime` finds and describes them.
"""

from . import runtime, servers
from ._errors import MCPError, PolicyError, ToolError
from ._media import Audio, Image, Resource

__all__ = ["Audio", "Image", "MCPError", "PolicyError", "Resource", "ToolError", "runtime", "servers"]
