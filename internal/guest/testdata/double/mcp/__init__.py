"""Stands in for the mcp package: the bare channel, for conversations about the channel."""

from . import _state


async def call(tool, **arguments):
    return await _state.channel.request("tools/call", {"server": "s", "tool": tool, "arguments": arguments})


def call_sync(tool, **arguments):
    return _state.channel.request_sync("tools/call", {"server": "s", "tool": tool, "arguments": arguments})
