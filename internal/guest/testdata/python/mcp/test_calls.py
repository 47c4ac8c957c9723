"""Calls: binding, laziness, errors, coroutines nobody awaited."""

import __main__
import asyncio
import gc
import unittest
import warnings

import fake
import mcp
from mcp import _state


class Binding(unittest.IsolatedAsyncioTestCase):
    def setUp(self):
        self.channel = fake.start(fake.GITHUB)
        self.github = fake.names()["mcp_github"]

    async def sent(self, *args, **kwargs):
        await self.github.create_issue(*args, **kwargs)
        return self.channel.calls()[-1]["arguments"]

    async def test_positional_arguments_go_by_schema_order(self):
        self.assertEqual(await self.sent("o/r", "t", "b"), {"repo": "o/r", "title": "t", "body": "b"})

    async def test_keywords_are_the_signatures_names_or_the_schemas(self):
        self.assertEqual(await self.sent("o/r", title="t", per_page=5), {"repo": "o/r", "title": "t", "per-page": 5})
        self.assertEqual((await self.sent("o/r", "t", **{"per-page": 6}))["per-page"], 6)

    async def test_none_is_left_out_unless_null_is_allowed(self):
        arguments = await self.sent("o/r", "t", body=None, milestone=None)
        self.assertEqual(arguments, {"repo": "o/r", "title": "t", "milestone": None})

    async def test_none_for_a_required_parameter_is_sent(self):
        self.assertEqual(await self.sent("o/r", None), {"repo": "o/r", "title": None})

    async def test_a_lone_dict_of_all_arguments(self):
        self.assertEqual(await self.sent({"repo": "o/r", "title": "t"}), {"repo": "o/r", "title": "t"})

    async def test_a_lone_dict_that_may_be_the_first_argument_is_that(self):
        channel = fake.start(fake.server("s", fake.tool("put", fake.param("data", "dict", required=True))))
        await fake.names()["mcp_s"].put({"data": 1})
        self.assertEqual(channel.calls()[0]["arguments"], {"data": {"data": 1}})

    async def test_a_tool_without_parameters_takes_an_empty_dict(self):
        channel = fake.start(fake.server("clock", fake.tool("now")))
        now = fake.names()["mcp_clock"].now
        await now({})
        self.assertEqual(channel.calls()[0]["arguments"], {})
        for arguments, message in (
            ({"a": 1}, "now() got an unexpected argument 'a'"),
            (1, "now() takes 0 positional arguments but 1 was given"),
        ):
            with self.assertRaises(TypeError) as caught:
                now(arguments)
            self.assertEqual(str(caught.exception).partition(";")[0], message)

    async def test_what_is_wrong_is_a_type_error_before_anything_is_sent(self):
        signature = "; it is create_issue(repo: str, title: str, body: str | None = None, per_page: int = 30) -> dict"
        for args, kwargs, message in (
            ((), {}, "create_issue() is missing 'repo', 'title'"),
            (("o/r",), {"titel": "t"}, "create_issue() got an unexpected argument 'titel' (did you mean 'title'?)"),
            (("o/r", "t"), {"zzzzz": 1}, "create_issue() got an unexpected argument 'zzzzz'"),
            (("o/r",), {"repo": "x"}, "create_issue() got multiple values for argument 'repo'"),
            (range(6), {}, "create_issue() takes 5 positional arguments but 6 were given"),
        ):
            with self.subTest(message), self.assertRaises(TypeError) as caught:
                self.github.create_issue(*args, **kwargs)
            self.assertEqual(str(caught.exception), message + signature)
        self.assertEqual(self.channel.calls(), [])

    async def test_a_tool_that_takes_more_than_it_names(self):
        channel = fake.start(fake.server("s", fake.tool("t", extra=True)))
        await fake.names()["mcp_s"].t(**{"any-thing": (1, 2), "self": None})
        self.assertEqual(channel.calls()[0]["arguments"], {"any-thing": [1, 2], "self": None})

    async def test_call_tool_takes_the_schemas_keys_first(self):
        both = [{"name": n, "key": k, "type": "int", "required": False} for n, k in (("a_b", "a-b"), ("a_b_2", "a_b"))]
        channel = fake.start(fake.server("s", fake.tool("t", *both)))
        await mcp.runtime.call_tool("s", "t", {"a_b": 1, "a-b": 2})
        await fake.names()["mcp_s"].t(a_b=1, a_b_2=2)
        self.assertEqual([c["arguments"] for c in channel.calls()], [{"a_b": 1, "a-b": 2}, {"a-b": 1, "a_b": 2}])

    async def test_a_server_that_cannot_be_used_says_why(self):
        why = 'server "my-remote" cannot be used (disabled); the user can: switch it on in "mcp.json"'
        _state.update({"servers": [], "unusable": [{"name": "my-remote", "alias": "my_remote", "why": why}]})
        self.addCleanup(_state.update, {"servers": [], "unusable": []})
        for attempt in (
            lambda: fake.names()["mcp_servers"]["my-remote"],
            lambda: mcp.runtime.list_tools_sync("my_remote"),
            lambda: __import__("mcp.servers.my_remote"),
        ):
            with self.assertRaises((mcp.MCPError, ModuleNotFoundError)) as caught:
                attempt()
            self.assertIn(why, str(caught.exception))
        self.assertEqual(_state.suggest("mcp_my_remote"), why)


RELATION = {
    "type": "object",
    "properties": {"from": {"type": "string"}, "to": {"type": "string"}, "tags": {"type": "array"}},
    "required": ["from", "to"],
    "additionalProperties": False,
}


class Members(unittest.IsolatedAsyncioTestCase):
    def setUp(self):
        type_ = "list[{from: str, to: str, tags?: list}]"
        schema = {
            "type": "object",
            "properties": {
                "relations": {"type": "array", "items": {"$ref": "#/$defs/R"}},
                "one": {"anyOf": [{"$ref": "#/$defs/R"}, {"type": "null"}]},
                "loose": {"type": "object"},
                "how": {"type": "string", "enum": ["read", "write"]},
                "times": {"type": "integer"},
            },
            "$defs": {"R": RELATION},
        }
        params = [fake.param("relations", type_), *map(fake.param, ("one", "loose", "how", "times"))]
        tool = fake.tool("relate", *params, inputSchema=schema)
        self.channel = fake.start(fake.server("s", tool))
        self.relate = fake.names()["mcp_s"].relate

    async def test_what_is_wrong_within_an_argument_is_a_type_error_before_anything_is_sent(self):
        good = {"from": "a", "to": "b"}
        for kwargs, message in (
            ({"relations": [good, {"from": "a"}]}, "'relations[1]' is missing 'to'"),
            ({"relations": [{"from": "a", "target": "b"}]}, "'relations[0]' is missing 'to' (it has 'target')"),
            (
                {"relations": [{**good, "kind": 1}]},
                "'relations[0]' has 'kind', which it does not take; it has 'from', 'to', 'tags'",
            ),
            ({"relations": good}, "'relations' must be a list, not an object"),
            ({"relations": 5}, "'relations' must be a list, not 5"),
            ({"relations": [{**good, "tags": {}}]}, "\"relations[0]['tags']\" must be a list, not an object"),
            ({"one": {"to": "b"}}, "'one' is missing 'from'"),
            ({"loose": []}, "'loose' must be an object, not a list"),
            ({"how": "reed"}, "'how' must be one of 'read', 'write', not 'reed'"),
            ({"times": "often"}, "'times' must be an integer, not 'often'"),
        ):
            with self.subTest(message), self.assertRaises(TypeError) as caught:
                self.relate(**kwargs)
            self.assertTrue(
                str(caught.exception).startswith(f"relate() argument {message}; it is relate(relations: list[{{"),
                caught.exception,
            )
        self.assertEqual(self.channel.calls(), [])

    async def test_a_server_is_asked_once_what_it_takes_now(self):
        old = {"type": "object", "properties": {"how": {"type": "string", "enum": ["read"]}}}
        new = {"type": "object", "properties": {"how": {"type": "string", "enum": ["read", "write"]}}}
        channel = fake.start(fake.server("s", fake.tool("do", fake.param("how"), inputSchema=old)))
        channel.servers["s"] = fake.server("s", fake.tool("do", fake.param("how"), inputSchema=new))
        do = fake.names()["mcp_s"].do
        self.assertEqual(await do(how="write"), "done")
        for _ in range(2):
            with self.assertRaisesRegex(TypeError, "must be one of 'read', 'write', not 'delete'"):
                do(how="delete")
        self.assertEqual(len(channel.asked("server")), 1)
        channel = fake.start(fake.server("s", fake.tool("do", fake.param("how"), inputSchema=old)))
        channel.servers["s"] = fake.RemoteError(-32001, "it does not start")
        with self.assertRaisesRegex(TypeError, "must be one of 'read', not 'delete'"):
            do(how="delete")

    async def test_of_all_else_the_server_has_the_last_word(self):
        for kwargs in (
            {"relations": '[{"from": "a"}]'},
            {"relations": [{"from": 1, "to": None, "tags": "x"}]},
            {"one": None, "loose": {"any": 1}},
            {"one": {"from": "a", "to": "b"}},
            {"how": "READ", "times": "5"},
            {"how": 1, "times": 1.0},
            {"times": True},
        ):
            self.assertEqual(await self.relate(**kwargs), "done")


class Loading(unittest.IsolatedAsyncioTestCase):
    async def test_a_server_is_loaded_by_the_first_call(self):
        channel = fake.start(fake.GITHUB, lazy=True)
        github = fake.names()["mcp_github"]
        call = github.list_issues()
        self.assertEqual(channel.sent, [])
        self.assertEqual(await call, "done")
        await github.list_issues()
        self.assertEqual([method for method, _ in channel.sent], ["server", "tools/call", "tools/call"])
        self.assertEqual(channel.asked("server"), [{"server": "github", "load": True}])

    async def test_first_calls_at_once_load_once(self):
        channel = fake.start(fake.GITHUB, lazy=True)
        github = fake.names()["mcp_github"]
        await asyncio.gather(*[github.list_issues() for _ in range(4)])
        self.assertEqual(len(channel.asked("server")), 1)
        self.assertEqual(len(channel.calls()), 4)

    async def test_the_others_load_when_the_first_call_is_cancelled(self):
        channel = fake.start(fake.GITHUB, lazy=True)
        github = fake.names()["mcp_github"]
        first, second = (asyncio.create_task(github.list_issues()) for _ in range(2))
        while not channel.sent:
            await asyncio.sleep(0)
        first.cancel()
        self.assertEqual(await second, "done")
        self.assertTrue(first.cancelled())
        self.assertEqual(len(channel.asked("server")), 2)

    async def test_a_cancelled_follower_disturbs_nobody(self):
        fake.start(fake.GITHUB, lazy=True).delay = 0.01
        github = fake.names()["mcp_github"]
        first, second, third = (asyncio.create_task(github.list_issues()) for _ in range(3))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        second.cancel()
        self.assertEqual(await asyncio.gather(first, third), ["done", "done"])

    async def test_a_server_that_does_not_start_fails_every_call_that_waits(self):
        channel = fake.start(fake.GITHUB, lazy=True)
        channel.servers["github"] = fake.RemoteError(-32001, 'server "github": starting', {"stderr": "no token\n"})
        github = fake.names()["mcp_github"]
        results = await asyncio.gather(*[github.list_issues() for _ in range(3)], return_exceptions=True)
        self.assertEqual({type(r) for r in results}, {mcp.MCPError})
        self.assertEqual(str(results[2]), 'server "github": starting\nits stderr ends with:\n  no token')
        self.assertEqual(len(channel.asked("server")), 1)

    async def test_what_is_wrong_with_a_first_call_shows_when_it_is_awaited(self):
        channel = fake.start(fake.GITHUB, lazy=True)
        github = fake.names()["mcp_github"]
        with self.assertRaisesRegex(TypeError, "is missing 'repo', 'title'; it is create_issue"):
            await github.create_issue()
        fake.start(fake.GITHUB, lazy=True)
        with self.assertRaisesRegex(AttributeError, "did you mean `await mcp_github.list_issues"):
            await github.list_isues()
        self.assertEqual(channel.calls(), [])

    async def test_new_tools_are_callable_at_once(self):
        fake.start(fake.GITHUB)
        github = fake.names()["mcp_github"]
        self.assertFalse(hasattr(github, "merge"))
        _state.update({"servers": [fake.server("github", fake.tool("merge"))]})
        self.assertEqual(await github.merge(), "done")

    async def test_a_server_that_is_not_selected(self):
        channel = fake.start(fake.GITHUB, fake.server("gitlab", fake.tool("t")), selected=["github"])
        with self.assertRaises(mcp.MCPError) as caught:
            fake.names()["mcp_gitlab"].t()
        self.assertEqual(str(caught.exception), "Server 'gitlab' is not available: this run was given 'github'")
        for name, hint in (("githb", "; did you mean 'github'?"), ("zzzzzz", "; there are 'github'")):
            with self.assertRaises(mcp.MCPError) as caught:
                await mcp.runtime.call_tool(name, "t")
            self.assertEqual(str(caught.exception), f"Server {name!r} is not available{hint}")
        self.assertEqual(channel.sent, [])
        _state.begin_run([])
        with self.assertRaisesRegex(mcp.MCPError, "^Server 'github' is not available: this run was given none$"):
            fake.names()["mcp_github"].list_issues()

    async def test_a_server_that_is_gone(self):
        fake.start(fake.GITHUB)
        github = fake.names()["mcp_github"]
        issues = github.list_issues
        _state.update({"servers": [], "removed": ["github"]})
        self.assertEqual(repr(github), "<server 'github', gone>")
        self.assertEqual(repr(issues), "<tool list_issues of a server that is gone>")
        self.assertFalse(hasattr(github, "__wrapped__"))
        for call in (issues, github.list_issues):
            with self.assertRaisesRegex(mcp.MCPError, "^Server 'github' is not available$"):
                call()


class Awaiting(unittest.IsolatedAsyncioTestCase):
    def setUp(self):
        self.channel = fake.start(fake.GITHUB)
        self.github = fake.names()["mcp_github"]

    async def test_all_that_asyncio_takes(self):
        calls = self.github.list_issues
        self.assertEqual(await asyncio.create_task(calls()), "done")
        self.assertEqual(await asyncio.ensure_future(calls()), "done")
        self.assertEqual(await asyncio.gather(calls(), calls()), ["done", "done"])
        self.assertEqual(await asyncio.wait_for(calls(), 1), "done")

    async def test_wait_for_ends_a_slow_call(self):
        self.channel.delay = 60
        with self.assertRaises(asyncio.TimeoutError):
            await asyncio.wait_for(self.github.list_issues(), 0.01)

    async def test_calls_run_side_by_side(self):
        running = []

        async def request(method, params):
            running.append(params)
            while len(running) < 20:
                await asyncio.sleep(0)
            return fake.text("done")

        self.channel.request = request
        self.assertEqual(await asyncio.gather(*[self.github.list_issues() for _ in range(20)]), ["done"] * 20)

    async def test_what_nobody_awaited_is_told_once(self):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            __main__.nothing = None  # is not what a destroyed coroutine refers to
            self.github.list_issues()
            self.github.list_issues()
            gc.collect()
            unused = [self.github.create_issue("o/r", "t")]
            self.assertEqual(
                _state.end_run(),
                [
                    "`mcp_github.list_issues()` was never awaited: write `await mcp_github.list_issues(…)`",
                    "`mcp_github.create_issue()` was never awaited: write `await mcp_github.create_issue(…)`",
                ],
            )
            self.assertEqual(_state.end_run(), [])
            await unused[0]
        await self.github.list_issues()
        self.assertEqual(_state.end_run(), [])

    async def test_of_a_coroutine_in_a_variable_the_runner_tells(self):
        __main__.kept = self.github.list_issues()
        try:
            self.assertEqual(_state.end_run(), [])
            self.assertEqual(__main__.kept.__qualname__, "mcp_github.list_issues")
            await __main__.kept
        finally:
            del __main__.kept


class Failing(unittest.IsolatedAsyncioTestCase):
    SIGNATURE = "create_issue(repo: str, title: str, body: str | None = None, per_page: int = 30) -> dict"

    async def failure(self, answer, kind):
        fake.start(fake.GITHUB, answers={("github", "create_issue"): answer})
        with self.assertRaises(kind) as caught:
            await fake.names()["mcp_github"].create_issue("o/r", title=b"x")
        self.assertIs(type(caught.exception), kind)
        return caught.exception

    async def test_is_error(self):
        answer = {**fake.text("no such repository", "really"), "isError": True}
        error = await self.failure(answer, mcp.ToolError)
        self.assertEqual(str(error), "no such repository\nreally")
        self.assertEqual((error.server, error.tool), ("github", "create_issue"))
        self.assertEqual(error.arguments, {"repo": "o/r", "title": "eA=="})
        self.assertEqual(error.content[1].text, "really")
        self.assertEqual((error.code, error.data), (None, None))
        self.assertIsInstance(error, RuntimeError)

    async def test_an_error_shows_which_call_it_is_of(self):
        error = await self.failure({**fake.text("no"), "isError": True}, mcp.ToolError)
        self.assertEqual(error.named("no"), "github.create_issue(repo='o/r', title='eA=='): no")
        self.assertEqual(repr(error), "ToolError(\"github.create_issue(repo='o/r', title='eA=='): no\")")
        self.assertEqual(error.named("github: create_issue: no"), "github: create_issue: no (repo='o/r', title='eA==')")
        error.arguments = {"repo": "x" * 1000, "labels": ["a"] * 10}
        self.assertEqual(error.named("no"), f"github.create_issue(repo='{'x' * 74}…): no")
        error.arguments = {"labels": ["a"] * 10, "by": {"a": 1}}
        self.assertEqual(error.named("no"), "github.create_issue(labels=[…], by={'a': 1}): no")

    async def test_arguments_that_do_not_fit_show_the_signature(self):
        for words in ("MCP error -32602: Invalid arguments for tool x", "1 validation error for x"):
            error = await self.failure({**fake.text(words), "isError": True}, mcp.ToolError)
            self.assertEqual(str(error), f"{words}; it is {self.SIGNATURE}")
        answer = fake.RemoteError(-32000, "bad", {"code": -32602})
        self.assertEqual(str(await self.failure(answer, mcp.ToolError)), f"bad; it is {self.SIGNATURE}")

    async def test_is_error_that_is_no_boolean(self):
        for odd in ("no", "", 0, 1, [], {}):
            error = await self.failure({**fake.text("no"), "isError": odd}, mcp.ToolError)
            self.assertEqual(str(error), "no")

    async def test_is_error_without_a_word(self):
        error = await self.failure({"isError": True}, mcp.ToolError)
        self.assertEqual(str(error), "github.create_issue failed and did not say why")

    async def test_a_json_rpc_error(self):
        details = {"server": "github", "tool": "create_issue", "code": -32050, "data": {"retry": 3}}
        error = await self.failure(fake.RemoteError(-32000, "rate limit", details), mcp.ToolError)
        self.assertEqual((str(error), error.code, error.data), ("rate limit", -32050, {"retry": 3}))
        self.assertEqual(error.arguments["repo"], "o/r")

    async def test_a_crash_shows_the_last_lines_of_stderr(self):
        answer = fake.RemoteError(-32000, "the server ended", {"stderr": "panic:\n  boom\n"})
        error = await self.failure(answer, mcp.ToolError)
        self.assertEqual(str(error), "the server ended\nits stderr ends with:\n  panic:\n    boom")

    async def test_other_answers_of_the_host(self):
        kinds = {-32001: mcp.MCPError, -32002: mcp.MCPError, -32003: mcp.ToolError, -32004: mcp.PolicyError}
        for code, kind in kinds.items():
            error = await self.failure(fake.RemoteError(code, "because", {"hint": '; did you mean "x"?'}), kind)
            self.assertEqual(str(error), 'because; did you mean "x"?')

    async def test_a_denial_names_its_rule(self):
        error = await self.failure(fake.RemoteError(-32004, "no", {"rule": "deny:*.create_*"}), mcp.PolicyError)
        self.assertEqual((error.server, error.tool, error.rule), ("github", "create_issue", "deny:*.create_*"))

    async def test_what_is_no_answer_of_the_host_stays_what_it_is(self):
        await self.failure(ValueError("a message of 70 MB is too long"), ValueError)

    async def test_a_tool_error_can_be_pickled(self):
        import pickle

        error = await self.failure({**fake.text("no"), "isError": True}, mcp.ToolError)
        again = pickle.loads(pickle.dumps(error))
        self.assertEqual((str(again), again.tool, again.content), ("no", "create_issue", error.content))


if __name__ == "__main__":
    unittest.main()
