"""What user code sees: proxies, imports, help(), names, runtime helpers."""

import contextlib
import importlib
import inspect
import io
import json
import pickle
import pydoc
import sys
import unittest

import fake
import mcp
from mcp import _docs, _state, runtime

ODD = fake.server(
    "my-server",
    fake.tool("list_tools"),
    fake.tool("class", alias="class_"),
    fake.tool("X", alias="x"),
    fake.tool("x", alias="x_2"),
    fake.tool("", alias="_"),
    fake.tool("日本", alias="__2"),
    fake.tool("__class__", alias="__class___"),
    fake.tool("keys"),
    fake.tool("raw"),
    alias="my_server",
)


class Modules(unittest.IsolatedAsyncioTestCase):
    def test_star_import(self):
        channel = fake.start(fake.GITHUB, lazy=True)
        names = {}
        exec("from mcp.servers.github import *", names)
        self.assertEqual(channel.asked("server"), [{"server": "github", "load": True}])
        self.assertLessEqual({"create_issue", "list_issues", "TOOLS", "TOOL_MAP"}, set(names))
        self.assertEqual(names["TOOLS"][0]["name"], "create_issue")
        self.assertEqual(list(names["TOOL_MAP"]), ["create_issue", "list_issues"])
        self.assertEqual(names["TOOL_MAP"]["list_issues"], names["list_issues"])

    async def test_one_object_by_all_its_names(self):
        fake.start(fake.GITHUB)
        import mcp.servers.github as gh
        from mcp.servers.github import list_issues

        names = fake.names()
        self.assertIs(gh, names["mcp_github"])
        self.assertIs(gh, names["mcp_servers"]["github"])
        self.assertIs(gh, mcp.servers.github)
        self.assertIs(pickle.loads(pickle.dumps(gh)), gh)
        self.assertEqual(pickle.loads(pickle.dumps(list_issues)), list_issues)
        self.assertEqual(await list_issues(), "done")
        self.assertEqual(dir(mcp.servers), ["github"])

    async def test_what_the_original_had(self):
        fake.start(fake.GITHUB)
        names = fake.names()
        self.assertIs(names["mcp_runtime"], runtime)
        self.assertEqual(names["discovered_servers"](), ("github",))
        self.assertIs(runtime.save_tool, names["save_tool"])
        listed = await names["mcp_github"].list_tools()
        self.assertEqual([tool.name for tool in listed], ["create_issue", "list_issues"])
        self.assertEqual(listed[0]["inputSchema"], listed[0]["input_schema"])
        self.assertEqual(listed[0].get("inputSchema"), listed[0].inputSchema)
        server = runtime.describe_server("github")
        self.assertIs(await server, server)
        self.assertIsNone(server["cwd"])
        self.assertIn("cwd", json.loads(json.dumps(server)))
        self.assertNotIn("cwd", repr(server))
        with self.assertRaises(KeyError):
            server["nothing"]
        self.assertEqual(pickle.loads(pickle.dumps(server)), server)
        self.assertEqual(runtime.query_tool_docs_sync("github", "LIST_issues", "brief").tool, "list_issues")
        with self.assertRaisesRegex(mcp.MCPError, "arguments must be a dict, not 'text'"):
            await runtime.call_tool("github", "list_issues", "text")
        with self.assertRaises(KeyError) as caught:
            names["mcp_servers"]["nope"]
        self.assertIsInstance(caught.exception, mcp.MCPError)
        self.assertIn("Server 'nope' is not available", str(caught.exception))

    def test_a_summary_has_bounds(self):
        fake.start(*(fake.server(f"server-{n}-with-a-long-name", alias=f"s_{n}") for n in range(400)))
        text = runtime.capability_summary()
        self.assertLess(len(text), 2000)
        self.assertRegex(text, r"and \d+ more, which `runtime.discovered_servers\(\)` lists")

    def test_imports_that_fail(self):
        fake.start(fake.GITHUB, fake.server("gitlab"), selected=["github"], lazy=True)
        message = "No module named 'mcp.servers.gihub'; did you mean mcp.servers.github"
        with self.assertRaisesRegex(ModuleNotFoundError, message):
            importlib.import_module("mcp.servers.gihub")
        with self.assertRaisesRegex(mcp.MCPError, "Server 'gitlab' is not available: this run was given 'github'"):
            importlib.import_module("mcp.servers.gitlab")
        self.assertNotIn("mcp.servers.gitlab", sys.modules)
        with self.assertRaises(ImportError):
            exec("from mcp.servers.github import nothing", {})
        with self.assertRaises(AttributeError):
            mcp.servers.nothing

    async def test_every_tool_can_be_reached(self):
        channel = fake.start(ODD)
        server = fake.names()["mcp_my_server"]
        self.assertEqual(dir(server), sorted(tool["alias"] for tool in ODD["tools"]))
        for tool in ODD["tools"]:
            self.assertEqual(await getattr(server, tool["alias"])(), "done", tool)
        for tool in ODD["tools"]:
            await runtime.call_tool("my-server", tool["name"])
        self.assertEqual([call["tool"] for call in channel.calls()], 2 * [tool["name"] for tool in ODD["tools"]])

    async def test_raw(self):
        result = {**fake.text('{"a": 1}'), "_meta": {"m": 1}, "isError": True}
        fake.start(fake.GITHUB, answers={("github", "list_issues"): result})
        self.assertEqual(await fake.names()["mcp_github"].list_issues.raw(), result)

    def test_a_tool_that_does_not_exist(self):
        fake.start(fake.GITHUB)
        github = fake.names()["mcp_github"]
        for name, hint in (
            ("creat_issue", "; did you mean `await mcp_github.create_issue(…)`?"),
            ("create", "; did you mean `await mcp_github.create_issue(…)`?"),
            ("zzz", "; it has create_issue, list_issues"),
        ):
            with self.assertRaises(AttributeError) as caught:
                getattr(github, name)
            self.assertEqual(str(caught.exception), f"server 'github' has no tool {name!r}{hint}")
        with self.assertRaisesRegex(AttributeError, "a tool has no attribute 'title'"):
            github.list_issues.title

    def test_probes_load_nothing(self):
        channel = fake.start(fake.GITHUB, lazy=True)
        github = fake.names()["mcp_github"]
        for name in ("__wrapped__", "_repr_png_", "__iter__"):
            self.assertFalse(hasattr(github, name))
        self.assertEqual(repr(github), "<mcp_github: not loaded yet>")
        self.assertEqual(repr(github.create_issue), "<mcp_github.create_issue, not loaded yet>")
        self.assertEqual(channel.sent, [])

    def test_reprs(self):
        fake.start(fake.GITHUB, ODD)
        names = fake.names()
        self.assertEqual(repr(names["mcp_github"]), "<mcp_github: 2 tools>")
        self.assertEqual(repr(names["mcp_my_server"]), "<mcp_my_server: 9 tools of server 'my-server'>")
        self.assertEqual(repr(names["mcp_github"].list_issues), "<mcp_github.list_issues: list_issues() -> Any>")
        self.assertEqual(repr(names["mcp_servers"]), "<mcp_servers: 'github', 'my-server'>")

    def test_help_and_inspect(self):
        fake.start(fake.GITHUB, lazy=True)
        create = fake.names()["mcp_github"].create_issue
        text = pydoc.plain(pydoc.render_doc(create))
        for line in ("The tool create_issue", "    repo (str): owner/name", "    body (str, optional)"):
            self.assertIn(line, text)
        signature = inspect.signature(create)
        annotations = [parameter.annotation for parameter in signature.parameters.values()]
        self.assertEqual(annotations, ["str", "str", "str | None", "int", "int | None"])
        self.assertEqual(signature.parameters["per_page"].default, 30)
        self.assertIs(signature.parameters["title"].default, inspect.Parameter.empty)
        self.assertEqual(signature.return_annotation, "dict")
        self.assertEqual(create.__annotations__["return"], "dict")
        self.assertEqual((create.__name__, create.__qualname__), ("create_issue", "mcp_github.create_issue"))
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            help(fake.names()["mcp_github"])
        self.assertIn("Issues and pull requests", out.getvalue())
        self.assertRegex(out.getvalue(), r"create_issue\(\s*repo: ")
        if sys.version_info >= (3, 12):
            self.assertTrue(inspect.iscoroutinefunction(create))

    def test_signature_of_a_tool_that_takes_more(self):
        fake.start(fake.server("s", fake.tool("t", fake.param("kwargs", "Any"), extra=True)))
        self.assertEqual(str(inspect.signature(fake.names()["mcp_s"].t)), "(kwargs: 'Any' = None, **kwargs_) -> 'Any'")

    def test_mcp_servers(self):
        fake.start(fake.GITHUB, ODD)
        servers = fake.names()["mcp_servers"]
        self.assertEqual((list(servers), len(servers), "github" in servers), (["github", "my-server"], 2, True))
        self.assertIs(servers["my-server"], servers["my_server"])
        self.assertEqual(dict(servers.items()), {name: servers[name] for name in servers.keys()})
        self.assertEqual(servers.values(), [servers[name] for name in servers])
        self.assertIsNone(servers.get("zzz"))
        with self.assertRaisesRegex(mcp.MCPError, "Server 'my-sever' is not available; did you mean 'my-server'"):
            servers["my-sever"]

    def test_servers_are_known_by_what_code_calls_them(self):
        fake.start(fake.GITHUB, ODD)
        for name in ("my-server", "my_server", "mcp_my_server", fake.names()["mcp_my_server"]):
            self.assertEqual(runtime.describe_server(name).name, "my-server")
        for name in ("mcp_", "mcp_nothing", None, 5):
            with self.assertRaisesRegex(mcp.MCPError, "is not available"):
                runtime.describe_server(name)

    def test_servers_and_tools_by_the_other_way(self):
        fake.start(fake.GITHUB, ODD, fake.server("dashed", fake.tool("get-sum", alias="get_sum")))
        servers = fake.names()["mcp_servers"]
        self.assertIs(servers.my_server, servers["my-server"])
        with self.assertRaisesRegex(AttributeError, "Server 'my_sever' is not available; did you mean 'my-server'"):
            servers.my_sever
        self.assertFalse(hasattr(type(servers).__new__(type(servers)), "__deepcopy__"))
        self.assertEqual(servers.dashed["get-sum"], servers.dashed.get_sum)
        with self.assertRaisesRegex(mcp.MCPError, "server 'dashed' has no tool 'get-some'; did you mean"):
            servers.dashed["get-some"]


class Names(unittest.TestCase):
    def test_namespace(self):
        fake.start(fake.GITHUB, ODD, fake.server("other"), selected=["github", "my-server"])
        names = fake.names()
        self.assertEqual(
            set(names),
            {"mcp_github", "mcp_my_server", "mcp_other", "mcp_servers", "runtime", "LOADED_MCP_SERVERS", "discovered_servers", "mcp_runtime", "save_tool"},
        )
        self.assertEqual(names["LOADED_MCP_SERVERS"], ("github", "my-server"))
        self.assertIs(names["runtime"], runtime)

    def test_suggest(self):
        fake.start(fake.GITHUB, ODD)
        for name, want in (
            ("mcp_githb", "did you mean `mcp_github`?"),
            ("mcp_server", "did you mean `mcp_servers`?"),
            ("mcp_zzzzzzzzz", "there are mcp_github, mcp_my_server"),
            ("github", "did you mean `mcp_github`?"),
            ("my-server", "did you mean `mcp_my_server`?"),
            ("create_issue", "did you mean `await mcp_github.create_issue(…)`?"),
            ("create_isue", "did you mean `await mcp_github.create_issue(…)`?"),
            ("list_servers", "did you mean `runtime.list_servers`?"),
            ("search_tool_docs_sync", "did you mean `runtime.search_tool_docs_sync`?"),
            ("df", None),
            ("np", None),
            ("z", None),
        ):
            self.assertEqual(_state.suggest(name), want, name)

    def test_suggest_where_there_is_no_server(self):
        fake.start()
        self.assertEqual(
            _state.suggest("mcp_memory"), "no MCP server is configured; the user can: codemode servers add"
        )
        _state.update({"unusable": [{"name": "off", "alias": "off", "why": "it is disabled"}]})
        self.assertEqual(_state.suggest("mcp_off"), "it is disabled")
        self.assertEqual(
            _state.suggest("mcp_memory"),
            "no MCP server can be used; there are off: `mcp_servers['NAME']` says why",
        )

    def test_what_codemodes_modules_do_not_have(self):
        fake.start(fake.GITHUB)
        for module, name, want in (
            ("mcp", "ClientSession", "this `mcp` is codemode's, whose servers are connected: `await mcp_SERVER.TOOL(...)`"),
            ("mcp", "call_tool", "did you mean `runtime.call_tool`?"),
            ("mcp.runtime", "search", "did you mean `runtime.search_tool_docs`?"),
            ("mcp.runtime", "zzzzzz", "help(runtime) tells what it has"),
            ("mcp.servers", "githup", "did you mean `mcp_github`?"),
            ("mcp.servers", "slack", "there are mcp_github"),
            ("tools", "report", "dir(tools) names the saved functions"),
            ("json", "loadz", None),
        ):
            meant = _state.instead(module, name)
            self.assertTrue(meant == want or name == "search" and "runtime.search_tool_docs" in meant, meant)

    def test_helpers_that_are_known_are_all(self):
        self.assertEqual(_state._HELPERS, set(runtime.__all__) - {"save_tool"})


class Runtime(unittest.IsolatedAsyncioTestCase):
    async def test_the_lines_of_the_contract(self):
        schema = {"type": "object", "properties": {"message": {"type": "string"}}, "required": ["message"]}
        about = {"description": "Echo the provided message", "inputSchema": schema}
        echo = fake.tool("echo", fake.param("message", required=True), **about)
        for selected in (["stub"], None):
            for lazy in (False, True):
                fake.start(fake.server("stub", echo), selected=selected, lazy=lazy)
                out = io.StringIO()
                with contextlib.redirect_stdout(out):
                    print("Discovered:", runtime.discovered_servers())
                    print("Loaded metadata:", runtime.list_loaded_server_metadata())
                    print("Selectable via RPC:", await runtime.list_servers())
                self.assertEqual(
                    out.getvalue(),
                    "Discovered: ('stub',)\n"
                    "Loaded metadata: ({'name': 'stub', 'alias': 'stub', 'tools': [{'name': 'echo', 'alias': 'echo', "
                    f"'description': 'Echo the provided message', 'input_schema': {schema}}}]}},)\n"
                    "Selectable via RPC: ('stub',)\n",
                )

    async def test_servers(self):
        other = fake.server("other", fake.tool("t"), cwd="/x")
        fake.start(fake.GITHUB, other, selected=["other"])
        self.assertEqual(runtime.discovered_servers(), ("other",))
        self.assertEqual(runtime.discovered_servers(detailed=True), ({"name": "other", "description": ""},))
        self.assertEqual((await runtime.list_servers(), runtime.list_servers_sync()), (("other",), ("other",)))
        self.assertEqual([s["name"] for s in runtime.list_loaded_server_metadata()], ["other"])
        self.assertEqual(runtime.describe_server("other").cwd, "/x")
        for name in ("github", "nothing", None):
            with self.assertRaisesRegex(mcp.MCPError, "is not available"):
                runtime.describe_server(name)

    async def test_metadata_leaves_out_what_does_not_start(self):
        channel = fake.start(fake.GITHUB, *[fake.server(f"s{i}", fake.tool("t")) for i in range(20)], lazy=True)
        channel.servers["s3"] = fake.RemoteError(-32001, "no")
        names = [server.name for server in runtime.list_loaded_server_metadata()]
        self.assertEqual(names, ["github", *[f"s{i}" for i in range(20) if i != 3]])
        self.assertEqual(len(channel.asked("server")), 21)

    async def test_docs_of_servers_that_are_not_selected(self):
        channel = fake.start(fake.GITHUB, selected=[], lazy=True)
        summary = {"server": "github", "serverAlias": "github", "tool": "list_issues", "toolAlias": "list_issues"}
        summary["description"] = "The tool list_issues"
        self.assertEqual((await runtime.query_tool_docs("github"))[1], summary)
        one = runtime.query_tool_docs_sync("github", "list_issues")
        self.assertEqual(one, [summary])
        self.assertEqual((one["tool"], one.get("x"), one.toolAlias), ("list_issues", None, "list_issues"))
        self.assertEqual(pickle.loads(pickle.dumps(one)), one)
        full = await runtime.query_tool_docs("github", "list_issues", detail="full")
        more = {"inputSchema": {"type": "object", "properties": {}}, "signature": "list_issues() -> Any"}
        self.assertEqual(full, [{**summary, **more}])
        self.assertEqual([t["alias"] for t in await runtime.list_tools("github")], ["create_issue", "list_issues"])
        self.assertEqual(runtime.list_tools_sync("github"), await runtime.list_tools("github"))
        self.assertEqual(channel.sent, [("server", {"server": "github", "load": False})])

    async def test_documents_are_copies(self):
        fake.start(fake.GITHUB)
        runtime.list_tools_sync("github")[0]["input_schema"]["properties"].clear()
        self.assertIn("repo", runtime.list_tools_sync("github")[0]["input_schema"]["properties"])

    async def test_search(self):
        channel = fake.start(fake.GITHUB)
        found = await runtime.search_tool_docs("list", limit=50, detail="full")
        self.assertEqual([doc["toolAlias"] for doc in found], ["list_issues"])
        self.assertEqual(found[0]["signature"], "list_issues() -> Any")
        self.assertEqual(runtime.search_tool_docs_sync("list")[0]["tool"], "list_issues")
        self.assertEqual(runtime.search_tool_docs_sync("quantum"), [])
        self.assertEqual([q["limit"] for q in channel.asked("search")], [20, 0, 0])

    async def test_a_search_is_short_where_it_is_printed(self):
        found = _docs.Found([{"tool": "a"}], "await mcp_s.a()\n    About a")
        self.assertEqual((str(found), repr(found)), ("await mcp_s.a()\n    About a",) * 2)
        self.assertEqual((found[0], list(found), found + []), ({"tool": "a"}, [{"tool": "a"}], [{"tool": "a"}]))
        self.assertEqual(repr(pickle.loads(pickle.dumps(found))), repr(found))

    async def test_what_a_server_has_is_short_where_it_is_printed(self):
        asked = fake.tool("ask", call="await mcp_s.ask(what=...)", description="Ask. Once.", summary="Ask.", policy="no")
        fake.start(fake.server("s", asked, *[fake.tool(f"t{n}", description="") for n in range(21)]))
        shown = [
            "await mcp_s.ask(what=...)\n    Ask. (no)",
            *[f"await mcp_s.t{n}() -> Any" for n in range(19)],
            "more: mcp_s: t19, t20",
        ]
        listings = await runtime.query_tool_docs("s"), await runtime.list_tools("s"), fake.names()["mcp_s"].TOOLS
        for listing in listings:
            self.assertEqual(repr(listing), "\n".join(shown))
            self.assertEqual(len(listing), 22)
        self.assertEqual([listings[0][0].toolAlias, listings[1][0].alias], ["ask", "ask"])
        self.assertEqual(repr(await runtime.query_tool_docs("s", detail="full"))[:12], "[{'server': ")
        fake.start(fake.server("none"))
        self.assertEqual(repr(await runtime.query_tool_docs("none")), "server 'none' has no tools")

    def test_help_is_short(self):
        import pydoc

        text = pydoc.plain(pydoc.render_doc(runtime))
        self.assertIn('await runtime.search_tool_docs("what to do")', text)
        self.assertLess(len(text), 5000)
        self.assertNotIn("Methods inherited", text)

    async def test_wrong_arguments(self):
        fake.start(fake.GITHUB)
        for message, call in (
            (
                'detail must be "summary" or "full", not \'all\'',
                lambda: runtime.query_tool_docs_sync("github", detail="all"),
            ),
            ("query must be a string, not 3", lambda: runtime.search_tool_docs_sync(3)),
            ("limit must be a number from 1 to 20, not 'x'", lambda: runtime.search_tool_docs_sync("x", limit="x")),
            ("Server 'githb' is not available; did you mean 'github'?", lambda: runtime.list_tools_sync("githb")),
            (
                "server 'github' has no tool 'lst_issues'; did you mean `await mcp_github.list_issues(…)`?",
                lambda: runtime.query_tool_docs_sync("github", "lst_issues"),
            ),
        ):
            with self.assertRaises(mcp.MCPError) as caught:
                call()
            self.assertEqual(str(caught.exception), message)

    async def test_call_tool(self):
        channel = fake.start(fake.GITHUB, lazy=True)
        self.assertEqual(await runtime.call_tool("github", "list_issues"), "done")
        self.assertEqual(await runtime.call_tool("github", "create_issue", {"repo": "r", "title": "t"}), "done")
        self.assertEqual(channel.calls()[1]["arguments"], {"repo": "r", "title": "t"})
        with self.assertRaisesRegex(mcp.MCPError, "has no tool 'nothing'"):
            await runtime.call_tool("github", "nothing")

    def test_capability_summary(self):
        fake.start(fake.GITHUB)
        summary = runtime.capability_summary()
        self.assertIn("github", summary)
        self.assertNotIn("\n", summary)


class Importing(unittest.TestCase):
    def test_nothing_heavy_is_imported(self):
        import subprocess

        code = "import sys; sys.path[:0] = [sys.argv[1]]; import mcp; print(*sys.modules)"
        root = mcp.__path__[0].rpartition("/")[0]
        command = [sys.executable, "-B", "-I", "-S", "-c", code, root]
        out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        heavy = {"asyncio", "inspect", "typing", "re", "json", "threading", "collections", "dataclasses", "enum"}
        self.assertEqual(heavy & set(out.split()), set())


if __name__ == "__main__":
    unittest.main()
