"""What a server says of the changes of its resources: mcp_x.resources.subscribe(uri)."""

from _collections import deque

from ._errors import MCPError, from_remote
from ._values import AttrDict


class Subscription:
    """The updates of a resource, in their order: `async for update in mcp_x.resources.subscribe(uri)`.

    Each is a dict with uri, and dropped: how many before it are lost because nobody had asked for them in time. It begins
    with the first of them that is waited for, or with `async with`, whose end it ends with; so it does with aclose(), and
    with the run.
    """

    __module__ = "mcp"

    def __init__(self, channel, server, label, uri):
        self._channel = channel
        self._server = server
        self._label = label
        self._uri = uri
        self._beginning = None  # the request that asks the server; kept, for an await of it can be cancelled
        self._asking = None  # the request for more
        self._updates = deque()
        self._dropped = 0
        self._over = False

    async def _begin(self):
        if self._beginning is None:
            self._beginning = self._channel.begin("subscribe", {"server": self._server, "uri": self._uri})
        return self._result(await self._beginning.wait())["subscription"]

    async def __anext__(self):
        while not self._updates:
            if self._over:
                raise StopAsyncIteration
            await self._more(await self._begin())
        update = AttrDict(self._updates.popleft())
        update["dropped"], self._dropped = self._dropped, 0
        return update

    async def _more(self, subscription):
        asking = self._asking
        if asking is None:
            asking = self._asking = self._channel.begin("updates", {"subscription": subscription})
        answer = await asking.wait()
        if asking is not self._asking:  # another task has taken it
            return
        self._asking = None
        if self._over:
            return
        result = self._result(answer)
        self._dropped += result.get("dropped") or 0
        self._updates.extend(update for update in result.get("updates") or () if isinstance(update, dict))

    def _result(self, answer):
        error = answer.get("error")
        if error is None:
            return answer["result"]
        from codemode_guest.channel import RemoteError

        remote = RemoteError(error.get("code"), error.get("message", ""), error.get("data"))
        asked = {"uri": self._uri}
        raise from_remote(remote, self._server, arguments=asked, method="resources/subscribe") or MCPError(str(remote))

    async def aclose(self):
        """End it; who waits for an update sees its end."""
        if self._over:
            return
        self._over = True
        if self._beginning is None:
            return
        answer = await self._beginning.wait()
        if "result" in answer:
            query = {"subscription": answer["result"]["subscription"], "end": True}
            await self._channel.begin("updates", query).wait()

    def __aiter__(self):
        return self

    async def __aenter__(self):
        await self._begin()
        return self

    async def __aexit__(self, *error):
        await self.aclose()

    def __await__(self):
        return self.__aenter__().__await__()

    def __repr__(self):
        return f"<{self._label}({self._uri!r}){', ended' if self._over else ''}>"
