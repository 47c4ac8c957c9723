"""Whether a text is one function and nothing else. None of these texts may be executed."""

import itertools
import string
import sys
import unittest
from unittest import mock

from mcp import _functions

MARK = "__import__('sys').poisoned.append(1)"


class Functions(unittest.TestCase):
    def setUp(self):
        sys.poisoned = []

    def tearDown(self):
        self.assertEqual(sys.poisoned, [])

    def one(self, source):
        found = _functions.check(source)
        self.assertEqual((len(found["functions"]), found["rest"]), (1, []), found)
        return found["functions"][0]

    def refused(self, source, why):
        self.assertRegex(self.one(source).get("problem") or "", why)
        with self.assertRaises(_functions.Refused):
            _functions.define(source, "<tool>", {})

    def test_what_is_said(self):
        source = (
            'async def report(week: int, n=2, *, fmt: "x" = "md", **more) -> str:\n'
            '    """Make a report.\n\n    And send it."""\n'
            "    import json\n"
            "    issues = await mcp_github.list_issues()\n"
            "    await mcp_servers['my-server'].send.raw(issues)\n"
            "    await runtime.call_tool('mail', 'send', {})\n"
            "    return json.dumps([helper(x) for x in issues]) + limit\n"
        )
        f = self.one("# a comment\n\n" + source + "\n\n")
        self.assertEqual(f["source"], source)
        self.assertEqual((f["name"], f["line"], f["async"]), ("report", 3, True))
        self.assertEqual(f["signature"], "report(week: int, n=2, *, fmt: 'x' = 'md', **more) -> str")
        self.assertEqual(self.one("def f(a, /, b=1, *c: int): pass")["signature"], "f(a, /, b=1, *c: int)")
        self.assertEqual(f["doc"], "Make a report.\n\nAnd send it.")
        self.assertEqual(
            [(p["name"], p["type"], p["required"]) for p in f["params"]],
            [("week", "int", True), ("n", "Any", False), ("fmt", "'x'", False)],
        )
        self.assertEqual(f["free"], ["helper", "limit"])
        self.assertEqual(
            sorted(f["uses"]), [["github", "list_issues"], ["mail", "send"], ["my-server", "send"]]
        )

    def test_little_that_becomes_much(self):
        """Python copies a finally block for each way out of its try, and so those in it."""

        def nested(depth, body="pass"):
            lines, space = [], "    "
            for _ in range(depth):
                lines += [space + "try:", space + "    " + body, space + "finally:"]
                space += "    "
            return "def f(a=0):\n" + "\n".join([*lines, space + "a"]) + "\n"

        for source in (nested(18), nested(7, "return; return; return; return"), nested(40)):
            problem = self.one(source).get("problem") or ""
            self.assertRegex(problem, "finally blocks within others|statically nested", source)
        self.assertNotIn("problem", self.one(nested(6)))
        ways = "def f(a):\n    try:\n" + "        if a: return 1\n" * 500 + "    finally:\n        a()\n"
        self.assertNotIn("problem", self.one(ways))

    def test_what_takes_python_long(self):
        """Of names and functions Python has, for a moment, each of those with each of these."""
        names = "".join("z" + "".join(letters) + "=" for letters in itertools.product(string.ascii_letters, repeat=2))
        source = "def f():\n " + names + "0\n " + "lambda: 0;" * 2400 + "0\n"
        with mock.patch.object(_functions, "_SOON", 0), mock.patch.object(_functions, "_SOON_A_CHARACTER", 0):
            self.assertRegex(self.one(source).get("problem") or "", "too long")
        self.assertNotIn("problem", self.one("def f():\n" + "    a = 1\n" * 6000))

    def test_uses_by_import(self):
        f = self.one(
            "async def f():\n"
            "    from mcp.servers.a import x, y as z\n"
            "    from mcp.servers import b as c\n"
            "    import mcp.servers.d as e\n"
            "    await c.two(mcp_g.TOOLS, mcp_g.__name__)\n"
            "    await e.three(mcp_servers, mcp_servers[c].no)\n"
        )
        self.assertEqual(sorted(f["uses"]), [["a", "x"], ["a", "y"], ["b", "two"], ["d", "three"]])
        self.assertEqual(f["free"], [])

    def test_free_names(self):
        f = self.one(
            "def f(a):\n"
            "    global made, later\n"
            "    made = 1\n"
            "    class C(Base):\n"
            "        x = 1\n"
            "        y = x\n"
            "        z = w\n"
            "    def g(q: Annotation = default):\n"
            "        return a, q, outer, f, print, asyncio, made, later, __name__\n"
            "    return [i for i in g]\n"
        )
        self.assertEqual(f["free"], ["Base", "default", "later", "outer", "w"])

    def test_constants_are_allowed(self):
        source = "def f(a=1, b=-2.5, c=(None, 'x', [True, ...]), *, d={'k': {1, 2}}, e=b'x'): return a, b, c, d, e\n"
        self.assertNotIn("problem", self.one(source))
        self.assertEqual(_functions.define(source, "<tool>", {})()[3], {"k": {1, 2}})

    def test_annotations_are_not_evaluated(self):
        source = f"def f(a: {MARK}) -> {MARK}:\n    b: {MARK}\n    def g(c: {MARK}): pass\n    return g\n"
        self.assertNotIn("problem", self.one(source))
        _functions.define(source, "<tool>", {})(1)

    def test_what_importing_would_execute(self):
        for source, why in (
            (f"@{MARK}\ndef f(): pass", "decorator"),
            (f"def f(a={MARK}): pass", "default of 'a'"),
            (f"def f(a, /, b={MARK}): pass", "default of 'b'"),
            (f"def f(*, k=[1, {MARK}]): pass", "default of 'k'"),
            (f"def f(k={{'a': {MARK}}}): pass", "default of 'k'"),
            (f"def f(k={{**{MARK}}}): pass", "default of 'k'"),
            (f'def f(k=f"{{{MARK}}}"): pass', "default of 'k'"),
            (f"def f(k=lambda: {MARK}): pass", "default of 'k'"),
            (f"def f(k=({MARK} for x in (1,))): pass", "default of 'k'"),
            (f"def f(k=(y := {MARK})): pass", "default of 'k'"),
            ("def f(k=not 1): pass", "default of 'k'"),
            ("def f(k={[]}): pass", "default of 'k'"),
            ("def f(k=-'x'): pass", "default of 'k'"),
            ("def f(k=9**9): pass", "default of 'k'"),
        ):
            with self.subTest(source):
                self.refused(source, why)

    @unittest.skipIf(sys.version_info < (3, 12), "no type parameters")
    def test_type_parameters(self):
        self.refused(f"def f[T: {MARK}](): pass", "type parameters")

    def test_names(self):
        for name in ("mcp", "mcp_github", "runtime", "print", "asyncio", "_x", "__init__", "größe", "a" * 65):
            with self.subTest(name):
                self.refused(f"def {name}(): pass", "is no name for a tool")

    def test_names_that_are_read_otherwise(self):
        for source, why in (
            ("def \uff46oo(): pass", r"line 1: Python reads the name '\\uff46oo' as 'foo'; write it so"),
            ("\ndef f():\n    return \ufb01nd()", r"line 3: Python reads the name '\\ufb01nd' as 'find'"),
            ("def f():\n    return open.\uff52ead", "Python reads the name"),
            ("def f(a\ufe0f): pass", r"line 1: the name '.*\\ufe0f' has a character that is not seen"),
        ):
            with self.subTest(source=source):
                self.assertRegex(self.one(source).get("problem") or "", why)
        for source in "def f(d\xedas): return d\xedas\n", "def f(): return '\uff46 \ufe0f'  # \ufb01\n":
            self.assertEqual(self.one(source).get("source"), source)

    def test_joiners(self):
        found = _functions.check("def f(a\u200d): pass")  # some Pythons take them in names
        self.assertRegex(str(found), r"u200d'.* has a character that is not seen|U\+200D")

    def test_more_than_a_function(self):
        for source, functions, rest in (
            ("def f(): pass\ndef g(): pass", 2, []),
            (f"def f(): pass\n{MARK}", 1, ["statement"]),
            (f"{MARK}\ndef f(): pass", 1, ["statement"]),
            (f"if 1:\n    {MARK}\n    def f(): pass", 0, ["statement"]),
            ("import os\ndef f(): pass", 1, ["import"]),
            ("from os import path\ndef f(): pass", 1, ["import"]),
            (f"class C: {MARK}", 0, ["class"]),
            (f"x = {MARK}", 0, ["assignment"]),
            ('"a docstring"\ndef f(): pass', 1, ["docstring"]),
            ("", 0, []),
        ):
            with self.subTest(source):
                found = _functions.check(source)
                self.assertEqual(len(found["functions"]), functions)
                self.assertEqual([part["what"] for part in found["rest"]], rest)
                with self.assertRaises(_functions.Refused):
                    _functions.define(source, "<tool>", {})

    def test_what_python_cannot_read(self):
        for source in (
            "def f(:",
            "def f():\nreturn",
            "  def f(): pass",
            "def f(): pass\0",
            "def f(): '\ud800'",
            "def f(): return " + "(" * 5000 + ")" * 5000,
            "def f(): return " + "[" * 150 + "x" + "]" * 149,
            "def f(): return " + "9" * 10000,
            "def match(a, a): pass; def",
        ):
            with self.subTest(source[:40]):
                self.assertTrue(_functions.check(source).get("problem"))

    def test_what_python_reads_and_cannot_compile(self):
        for source in (
            "def f():\n    nonlocal x",
            "def f(a, a): pass",
            "def f(): yield; await x",
            "def f(): return " + "-" * 3000 + "1",
            "def f(): return " + "+".join("x" * 60000),
            "def f(): return x" + ".a" * 20000,
            "def f():\n" + "".join(" " * i + "if x:\n" for i in range(1, 99)) + " " * 99 + "pass",
        ):
            with self.subTest(source[:40]):
                found = _functions.check(source)
                for function in found.get("functions", ()):
                    self.assertTrue(function.get("problem") or function["source"])


if __name__ == "__main__":
    unittest.main()
