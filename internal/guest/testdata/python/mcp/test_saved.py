"""save_tool, and the module tools."""

import asyncio
import importlib
import inspect
import pickle
import sys
import unittest

import fake
from mcp import MCPError, PolicyError, _saved


def tool(source, *needs):
    return {"source": source, "needs": list(needs)}


class Saved(unittest.TestCase):
    def start(self, **tools):
        _saved._loaded.clear()
        self.channel = fake.start(fake.GITHUB)
        self.channel.tools = tools
        return importlib.import_module("tools")

    def test_names(self):
        module = self.start(one=tool("def one(): return 1\n"), two=tool("def two(): return 2\n"))
        names = {}
        exec("from tools import *", names)
        self.assertEqual((names["one"](), names["two"]()), (1, 2))
        self.assertEqual(dir(module), ["one", "two"])
        self.assertFalse(hasattr(module, "three"))
        self.assertFalse(hasattr(module, "__wrapped__"))
        self.assertEqual(self.channel.asked("tools/saved").count({"name": "__wrapped__"}), 0)
        with self.assertRaises(ImportError):
            exec("from tools import three")

    def test_source_and_pickle(self):
        source = 'def one(x: int = 1):\n    "Say one."\n    return 1\n'
        module = self.start(one=tool(source))
        self.assertEqual(inspect.getsource(module.one), source)
        self.assertEqual((module.one.__doc__, module.one.__module__), ("Say one.", "tools"))
        self.assertIs(pickle.loads(pickle.dumps(module.one)), module.one)

    def test_what_is_in_place(self):
        module = self.start(
            report=tool("async def report():\n    await asyncio.sleep(0)\n    return await mcp_github.list_issues()\n"),
            names=tool("def names():\n    return runtime, mcp, mcp_servers, LOADED_MCP_SERVERS, save_tool\n"),
        )
        self.assertEqual(asyncio.run(module.report()), "done")
        self.assertEqual(module.names()[0].__name__, "mcp.runtime")
        with self.assertRaises(NameError):
            self.start(f=tool("def f(): return session_variable\n")).f()

    def test_tools_that_call_each_other(self):
        module = self.start(
            a=tool("def a(n): return n and b(n - 1)\n", "b", "gone"),
            b=tool("def b(n): return n and a(n - 1)\n", "a"),
        )
        self.assertEqual(module.a(5), 0)

    def test_a_namespace_of_its_own(self):
        module = self.start(
            a=tool("def a():\n    global kept\n    kept = 1\n"),
            b=tool("def b(): return kept\n"),
        )
        module.a()
        with self.assertRaises(NameError):
            module.b()

    def test_a_change_is_seen_at_the_next_import(self):
        module = self.start(one=tool("def one(): return 1\n"))
        first = module.one
        self.assertIs(module.one, first)
        self.channel.tools["one"] = tool("def one(): return 'new'\n")
        self.assertEqual((module.one(), first()), ("new", 1))
        del self.channel.tools["one"]
        self.assertFalse(hasattr(module, "one"))

    def test_what_is_kept_is_checked_again(self):
        sys.poisoned = []
        module = self.start(
            bad=tool("def bad(): pass\nimport sys; sys.poisoned.append(1)\n"),
            worse=tool("def worse(x=__import__('sys').poisoned.append(1)): pass\n"),
        )
        for name in ("bad", "worse"):
            with self.assertRaisesRegex(MCPError, f"the saved tool '{name}' cannot be used: "):
                getattr(module, name)
        self.assertEqual(sys.poisoned, [])

    def test_save(self):
        self.start()
        save_tool = fake.names()["save_tool"]
        self.assertIs(save_tool(plain), plain)
        save_tool(decorated, replace=True)
        sent = self.channel.asked("tools/save")
        self.assertEqual(sent[0], {"source": 'def plain(x):\n    "Say x."\n    return x\n', "replace": False})
        self.assertEqual(sent[1], {"source": "def decorated():\n    return 1\n", "replace": True})

        def inner(x=1):
            return x

        save_tool(inner)
        self.assertEqual(self.channel.asked("tools/save")[2]["source"], "def inner(x=1):\n    return x\n")

    def test_what_cannot_be_saved(self):
        self.start()
        save_tool = fake.names()["save_tool"]
        for thing in (len, Saved, "def f(): pass", None, self.test_save):
            with self.assertRaisesRegex(TypeError, "save_tool takes a function"):
                save_tool(thing)
        with self.assertRaisesRegex(MCPError, "write it with def"):
            save_tool(lambda: 1)
        names = {}
        exec("def f(): pass", names)
        with self.assertRaisesRegex(MCPError, "the text of 'f' is not known"):
            save_tool(names["f"])

    def test_the_host_refuses(self):
        self.start()
        self.channel.answers["tools/save"] = fake.RemoteError(-32004, "saving tools is switched off")
        with self.assertRaisesRegex(PolicyError, "switched off"):
            fake.names()["save_tool"](plain)


def plain(x):
    "Say x."
    return x


def save_tool(function):
    return function


@save_tool
def decorated():
    return 1


if __name__ == "__main__":
    unittest.main()
