import sys
import types
import unittest
import unittest.mock

from codemode_guest.hooks import Hooks
from codemode_guest.namespace import Namespace


class State(types.ModuleType):
    """The functions of mcp._state, and what they were told."""

    def __init__(self):
        super().__init__("mcp._state")
        self.log = []
        self.names = {"mcp_github": "proxy", "runtime": "helpers"}
        for name in ("attach", "update", "begin_run"):
            setattr(self, name, lambda *given, name=name: self.log.append((name, *given)))

    def namespace(self):
        return self.names

    def suggest(self, name):
        return f"did you mean {name}_?"


class TestNamespace(unittest.TestCase):
    def setUp(self):
        self.main = sys.modules["__main__"]
        self.addCleanup(sys.modules.__setitem__, "__main__", self.main)
        self.addCleanup(setattr, sys, "argv", sys.argv)
        self.hooks = Hooks()
        self.names = Namespace("channel", self.hooks, "display")
        self.state = State()

    def import_mcp(self):
        modules = {"mcp": types.ModuleType("mcp"), "mcp._state": self.state}
        sys.modules.update(modules)
        self.addCleanup(lambda: [sys.modules.pop(name, None) for name in modules])
        self.names._attach(self.state)  # as the hook does

    def begin(self, **params):
        self.names.begin({"filename": "<run 1>", "selected": None, **params})

    def provide(self, code):
        self.names.provide(compile(code, "<run 1>", "exec"))
        return self.names.globals

    def test_main_is_a_real_module(self):
        self.begin(argv=["a", "b"])
        self.assertIs(sys.modules["__main__"], self.names.module)
        self.assertEqual(self.names.globals["__name__"], "__main__")
        self.assertEqual(sys.argv, ["a", "b"])
        self.assertEqual(self.names.globals["display"], "display")
        self.assertNotIn("__file__", self.names.globals)

    def test_mcp_is_not_imported_for_code_that_does_not_name_it(self):
        self.begin()
        self.provide("x = 1\ndef f(): return os.path")
        self.assertNotIn("mcp_github", self.names.globals)

    def test_state_learns_what_came_before_it(self):
        one, two, three = ({"name": "github", "tools": [n]} for n in (1, 2, 3))
        gone, other = {"name": "gone"}, {"name": "other"}
        self.names.update({"servers": [gone, one], "unusable": ["x"]})
        self.names.update({"servers": [other], "removed": ["gone", "never"]})
        self.begin(selected=["github"], catalog={"servers": [two]})
        self.assertEqual(self.state.log, [])
        self.import_mcp()
        self.names.update({"servers": [three]})
        given = {"display": "display", **self.names._artifacts()}
        self.assertEqual(
            self.state.log,
            [
                ("attach", "channel", given, self.names._give),
                ("update", {"servers": [two, other], "unusable": ["x"]}),
                ("begin_run", ["github"]),
                ("update", {"servers": [three]}),
            ],
        )

    def test_of_a_server_the_last_news_alone_is_kept(self):
        for n in range(1000):
            self.names.update({"servers": [{"name": "github", "tools": [n]}]})
        self.import_mcp()
        updates = [call for call in self.state.log if call[0] == "update"]
        self.assertEqual(updates, [("update", {"servers": [{"name": "github", "tools": [999]}]})])

    def test_servers_are_asked_for_when_code_needs_them(self):
        channel = self.names._channel = unittest.mock.Mock()
        channel.request_sync.side_effect = [RuntimeError("not now"), {"servers": [{"name": "x"}]}]
        self.begin(catalog={"servers": None, "later": True})
        self.provide("x = 1")
        channel.request_sync.assert_not_called()
        self.assertEqual(self.names.servers(), ())
        self.begin()  # what was not answered is asked again
        self.import_mcp()
        self.assertEqual([call for call in self.state.log if call[0] == "update"], [("update", {"servers": [{"name": "x"}]})])
        self.names.suggest("x")
        self.assertEqual(channel.request_sync.call_args_list, [unittest.mock.call("servers", {})] * 2)

    def test_names_in_nested_functions(self):
        self.begin()
        self.import_mcp()
        self.assertEqual(self.provide("def f():\n  def g(): return mcp_github")["mcp_github"], "proxy")

    def test_mcp_that_was_taken_away_is_imported_again(self):
        self.addCleanup(lambda: [sys.modules.pop(name) for name in list(sys.modules) if name.partition(".")[0] == "mcp"])
        import mcp._state

        self.begin()
        self.names._attach(mcp._state)
        del sys.modules["mcp"]
        self.assertIs(self.provide("mcp.x")["mcp"], sys.modules["mcp"])

    def test_names_of_the_user_stay(self):
        self.begin()
        self.import_mcp()
        self.names.globals["runtime"] = "mine"
        self.assertEqual(self.provide("runtime, mcp_github")["runtime"], "mine")
        self.names.globals["mcp_github"] = "mine, too"
        self.state.names = {"mcp_github": "new proxy"}
        self.assertEqual(self.provide("mcp_github")["mcp_github"], "mine, too")

    def test_servers_come_and_go(self):
        self.begin()
        self.import_mcp()
        self.provide("mcp_github")
        self.state.names = {"mcp_gitlab": "other"}
        variables = self.provide("mcp_x")
        self.assertNotIn("mcp_github", variables)
        self.assertEqual(variables["mcp_gitlab"], "other")

    def test_modules_take_no_server_away(self):
        self.begin()
        self.import_mcp()
        self.provide("mcp_github")
        with unittest.mock.patch.dict(sys.modules, tools="saved"):
            variables = self.provide("asyncio, tools")
        self.assertEqual((variables["mcp_github"], variables["tools"]), ("proxy", "saved"))

    def test_suggestions_only_where_there_are_servers(self):
        self.begin()
        self.assertIsNone(self.names.suggest("x"))
        self.import_mcp()
        self.assertEqual(self.names.suggest("x"), "did you mean x_?")
