"""Updates of a resource."""

import unittest

from mcp._subscriptions import Subscription


class Answered:
    def __init__(self, result):
        self.result = result

    async def wait(self):
        return {"result": self.result}


class Channel:
    def __init__(self, *updates):
        self.updates = list(updates)

    def begin(self, method, params):
        return Answered({"subscription": 1} if method == "subscribe" else self.updates.pop(0))


class Subscriptions(unittest.IsolatedAsyncioTestCase):
    async def test_all_dropped(self):
        """Updates that were too large for the host are told with the next one that comes."""
        large, small = {"updates": None, "dropped": 2}, {"updates": [{"uri": "a://text"}], "dropped": 1}
        update = await Subscription(Channel(large, small), "x", "x", "a://text").__anext__()
        self.assertEqual(update, {"uri": "a://text", "dropped": 3})
