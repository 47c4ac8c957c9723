"""Resources and prompts."""

import inspect
import pickle
import pydoc
import unittest

import fake
import mcp
from mcp import _functions, _state

PIXEL = "iVBORw0KGgo="
CONTENTS = {
    "a://text": [{"uri": "a://text", "mimeType": "application/json", "text": '{"n": 1}'}],
    "a://blob": [{"uri": "a://blob", "mimeType": "image/png", "blob": PIXEL}],
    "a://dir": [{"uri": "a://dir/1", "text": "one"}, {"uri": "a://dir/2", "blob": PIXEL}, "no object"],
    "a://none": [],
    "a://odd": [{"uri": "a://odd", "text": ["no text"]}],
    "a://wrong": {"uri": "no list"},
}
ANSWERS = {
    ("x", "resources/list"): {"resources": [{"uri": "a://text", "name": "text", "mimeType": "text/plain"}]},
    ("x", "resources/templates/list"): {"resourceTemplates": [{"uriTemplate": "a://{n}", "name": "n"}]},
    ("x", "resources/read"): lambda params: {"contents": CONTENTS[params["uri"]], "_meta": {"a": 1}},
    ("x", "prompts/list"): {"prompts": [{"name": "greet", "arguments": [{"name": "name", "required": True}]}]},
    ("x", "prompts/get"): {
        "description": "A greeting",
        "messages": [
            {"role": "user", "content": {"type": "text", "text": '{"n": 1}'}},
            {"role": "assistant", "content": {"type": "image", "mimeType": "image/png", "data": PIXEL}},
            {"role": "user", "content": {"type": "resource", "resource": {"uri": "a://text", "text": "one"}}},
        ],
    },
    ("x", "completion/complete"): {"completion": {"values": ["one", "two"], "total": 2}},
}


class Requests(unittest.IsolatedAsyncioTestCase):
    def setUp(self):
        self.channel = fake.start(fake.server("x", fake.tool("echo")), answers=dict(ANSWERS), lazy=True)
        self.x = fake.names()["mcp_x"]

    def asked(self):
        return [(q["method"], q["params"]) for q in self.channel.asked("request")]

    async def test_lists(self):
        (resource,) = await self.x.resources.list()
        self.assertEqual((resource.uri, resource["mimeType"]), ("a://text", "text/plain"))
        self.assertEqual((await self.x.resources.templates())[0].uriTemplate, "a://{n}")
        self.assertEqual((await self.x.prompts.list())[0].arguments[0].name, "name")
        self.assertEqual(self.channel.asked("server"), [], "nothing is loaded for it")

    async def test_contents(self):
        read = self.x.resources.read
        self.assertEqual(await read("a://text"), '{"n": 1}')
        self.assertEqual((await read("a://blob"))[:4], b"\x89PNG")
        one, two = await read("a://dir")
        self.assertEqual((one.uri, str(one), two.data[:4]), ("a://dir/1", "one", b"\x89PNG"))
        self.assertEqual(await read("a://none"), [])
        self.assertIsInstance((await read("a://odd"))[0], mcp.Resource)
        with self.assertRaisesRegex(mcp.MCPError, "no list 'contents'"):
            await read("a://wrong")
        self.assertEqual(await read.raw("a://none"), {"contents": [], "_meta": {"a": 1}})

    async def test_what_names_a_resource(self):
        (listed,) = await self.x.resources.list()
        for uri in (listed, mcp.Resource("a://text"), "a://text"):
            await self.x.resources.read(uri)
            self.assertEqual(self.asked()[-1], ("resources/read", {"uri": "a://text"}))
        for wrong in (None, 1, b"a://text", {}):
            with self.assertRaisesRegex(TypeError, "uri must be a str, not "):
                await self.x.resources.read(wrong)
        with self.assertRaisesRegex(ValueError, "lone surrogate"):
            await self.x.resources.read("a://\ud800")

    async def test_prompts(self):
        prompt = await self.x.prompts.get("greet", name="Ada", times=2, loud=True, style=None, tags=["é"])
        arguments = {"name": "Ada", "times": "2", "loud": "true", "tags": '["é"]'}
        self.assertEqual(self.asked(), [("prompts/get", {"name": "greet", "arguments": arguments})])
        said, shown, embedded = (message.content for message in prompt.messages)
        self.assertEqual((prompt.description, prompt.messages[0].role, said), ("A greeting", "user", '{"n": 1}'))
        self.assertEqual((type(shown), str(embedded)), (mcp.Image, "one"))
        await self.x.prompts.get("greet", {"name": "Ada"})
        self.assertEqual(self.asked()[-1][1]["arguments"], {"name": "Ada"})
        with self.assertRaises(ValueError):
            await self.x.prompts.get("greet", name=float("nan"))

    async def test_completions(self):
        self.assertEqual(await self.x.prompts.complete("greet", "name", "A", context={"n": 1}), ["one", "two"])
        self.assertEqual(await self.x.resources.complete("a://{n}", "n", 1), ["one", "two"])
        ref = {"ref": {"type": "ref/prompt", "name": "greet"}, "argument": {"name": "name", "value": "A"}}
        template = {"ref": {"type": "ref/resource", "uri": "a://{n}"}, "argument": {"name": "n", "value": "1"}}
        self.assertEqual([params for _, params in self.asked()], [{**ref, "context": {"arguments": {"n": "1"}}}, template])

    async def test_errors(self):
        for answer, kind, text in (
            (fake.RemoteError(-32000, "gone", {"code": -32002, "data": 1}), mcp.MCPError, "x.resources/list(): gone"),
            (fake.RemoteError(-32000, 'server "x" offers no resources'), mcp.MCPError, 'server "x" offers no resources'),
            (fake.RemoteError(-32004, "policy denies it", {"rule": "deny:x"}), mcp.PolicyError, "policy denies it"),
        ):
            self.channel.answers["x", "resources/list"] = answer
            with self.assertRaises(kind) as caught:
                await self.x.resources.list()
            self.assertEqual(str(caught.exception), text)
        self.assertEqual((caught.exception.tool, caught.exception.rule), ("resources/list", "deny:x"))
        with self.assertRaisesRegex(AttributeError, r"did you mean `await mcp_x.resources.read\(uri\)`"):
            await self.x.read_resource("a://text")
        with self.assertRaisesRegex(AttributeError, "mcp_x.resources has no 'listen'"):
            self.x.resources.listen("a://text")
        fake.start(fake.server("x"), fake.server("y"), selected=["y"])
        with self.assertRaisesRegex(mcp.MCPError, "this run was given 'y'"):
            await self.x.resources.list()

    async def test_a_tool_of_that_name_is_there_too(self):
        tools = fake.tool("resources", fake.param("n", "int")), fake.tool("prompts")
        for lazy in (True, False):
            channel = fake.start(fake.server("x", *tools), answers=dict(ANSWERS), lazy=lazy)
            x = fake.names()["mcp_x"]
            self.assertEqual(await x.resources(n=1), "done")
            self.assertEqual(await x["prompts"](), "done")
            self.assertEqual([call["tool"] for call in channel.calls()], ["resources", "prompts"])
            self.assertEqual(len(await x.resources.list()), 1)
            self.assertIn("mcp_x.resources(…) itself is a tool: resources(n: int = None)", x.resources.__doc__)
            self.assertEqual(str(inspect.signature(x.resources)), "(n: 'int | None' = None) -> 'Any'")
        with self.assertRaisesRegex(AttributeError, "has no tool 'resources'"):
            fake.start(fake.server("x", fake.tool("echo")))
            await fake.names()["mcp_x"].resources()

    async def test_help(self):
        text = pydoc.plain(pydoc.render_doc(self.x.resources))
        self.assertIn("await mcp_x.resources.read(uri)", text)
        self.assertIn("read(uri)", pydoc.plain(pydoc.render_doc(self.x.resources.read)))
        self.assertIn("await mcp_x.prompts.get(name, **arguments)", self.x.prompts.__doc__)
        self.assertIn("mcp_x.prompts", repr(self.x.prompts))
        self.assertEqual(pickle.loads(pickle.dumps(self.x.prompts)), self.x.prompts)
        self.assertNotEqual(self.x.prompts, self.x.resources)

    async def test_what_nobody_awaited(self):
        self.x.resources.read("a://text")
        (note,) = _state.end_run()
        self.assertIn("`mcp_x.resources.read()` was never awaited", note)

    def test_saved_tools_use_no_tool_by_it(self):
        source = "async def f():\n    await mcp_x.resources.read('a')\n    await mcp_x.prompts()\n    await mcp_x.echo.raw()\n"
        self.assertEqual(_functions.check(source)["functions"][0]["uses"], [["x", "prompts"], ["x", "echo"]])
