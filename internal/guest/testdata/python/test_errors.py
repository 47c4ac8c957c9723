import sys
import unittest

from codemode_guest import errors, frames


def nothing(name):
    return None


def raised(code, filename="<run 1>"):
    """The exception that code ends with, as of a run."""
    frames.sources[filename] = code
    try:
        exec(compile(code, filename, "exec"), {"__name__": "__main__"})
    except BaseException as error:
        # Of this test's own frames, the runner would not have been told either.
        error.__traceback__ = error.__traceback__ and error.__traceback__.tb_next
        return error
    raise AssertionError("did not raise")


def text(code, suggest=nothing):
    return errors.describe(raised(code), suggest, False)["traceback"]


class TestErrors(unittest.TestCase):
    maxDiff = None

    def tearDown(self):
        frames.sources.clear()

    def test_a_key_that_a_result_has_not(self):
        code = "error = KeyError('titel')\nerror.meant = lambda: MEANT\nraise error"
        for meant, want in (("did you mean 'title'?", " (did you mean 'title'?)"), ("", "")):
            shown = text(code.replace("MEANT", repr(meant)))
            self.assertEqual(shown.splitlines()[-1], f"KeyError: 'titel'{want}")
        self.assertTrue(text(code).endswith("\nKeyError: 'titel'"), "what is meant raises")

    def test_two_lines(self):
        described = errors.describe(raised('x = 1\nraise ValueError("x")'), nothing, False)
        self.assertEqual(
            described,
            {
                "type": "ValueError",
                "message": "x",
                "traceback": '  File "<run 1>", line 2\n    raise ValueError("x")\nValueError: x',
            },
        )

    def test_library_frames_are_left_out(self):
        code = 'import json\ndef hook(o):\n    return o["b"]\njson.loads("{}", object_hook=hook)'
        self.assertEqual(
            text(code),
            '  File "<run 1>", line 4\n    json.loads("{}", object_hook=hook)\n'
            '  File "<run 1>", line 3, in hook\n    return o["b"]\nKeyError: \'b\'',
        )

    def test_syntax_error_is_marked(self):
        self.assertEqual(text("a = 1\nx = = 1"), '  File "<run 1>", line 2\n    x = = 1\n        ^\nSyntaxError: invalid syntax')
        self.assertIn("    return 1\n    ^", text("return 1"))

    def test_chains(self):
        cause = text("try:\n  1/0\nexcept ZeroDivisionError as e:\n  raise KeyError('k') from e")
        self.assertEqual(cause.count("direct cause"), 1)
        self.assertLess(cause.index("ZeroDivisionError: "), cause.index("KeyError: 'k'"))
        context = text("try:\n  1/0\nexcept ZeroDivisionError as e:\n  raise KeyError('k')")
        self.assertEqual(context.count("During handling"), 1)
        self.assertNotIn("Zero", text("try:\n  1/0\nexcept ZeroDivisionError:\n  raise KeyError('k') from None").split("\n", 2)[2])

    def test_chain_that_bites_its_tail(self):
        error = raised("a = ValueError(1)\nb = ValueError(2)\na.__cause__ = b\nb.__cause__ = a\nraise a")
        self.assertIn("ValueError: 1", errors.describe(error, nothing, False)["traceback"])

    def test_long_chain_is_bounded(self):
        code = "e = None\nfor i in range(100):\n  n = ValueError(i); n.__cause__ = e; e = n\nraise e"
        self.assertLess(len(text(code).splitlines()), 50)

    @unittest.skipIf(sys.version_info < (3, 11), "exception groups came with 3.11")
    def test_groups(self):
        code = 'raise ExceptionGroup("two", [ValueError("a"), ExceptionGroup("in", [KeyError("b")] * 20)])'
        self.assertEqual(
            text(code).splitlines()[:6],
            [
                '  File "<run 1>", line 1',
                "    " + code,
                "ExceptionGroup: two (2 sub-exceptions)",
                "  1. ValueError: a",
                "  2. ExceptionGroup: in (20 sub-exceptions)",
                "    1. KeyError: 'b'",
            ],
        )
        self.assertIn("    … and 10 more", text(code))

    @unittest.skipIf(sys.version_info < (3, 11), "notes came with 3.11")
    def test_notes(self):
        self.assertTrue(text('e = ValueError("x"); e.add_note("a note"); raise e').endswith("ValueError: x\na note"))

    def test_recursion(self):
        lines = text("def f(n): return f(n + 1)\nf(0)").splitlines()
        self.assertLess(len(lines), 10)
        self.assertIn("more times]", "\n".join(lines))

    def test_huge_message(self):
        described = errors.describe(raised('raise ValueError("a" + "x" * 1_000_000 + "z")'), nothing, False)
        for part in (described["message"], described["traceback"]):
            self.assertLess(len(part), 5000)
            self.assertIn("characters left out) …x", part)
            self.assertTrue(part.endswith("z"))

    def test_exceptions_that_resist(self):
        for body in ("def __str__(self): raise KeyError(1)", "def __str__(self): return 5", "__module__ = 5"):
            described = errors.describe(raised(f"class Odd(Exception):\n  {body}\nraise Odd('x')"), nothing, False)
            self.assertIn("Odd", described["traceback"])

    def test_names_of_types(self):
        self.assertTrue(text("class Mine(Exception): pass\nraise Mine").endswith("\nMine"))
        self.assertIn("json.decoder.JSONDecodeError: ", text("import json\njson.loads('[')"))

    def test_suggestion(self):
        asked = []
        shown = text("mcp_githb.x()", lambda name: asked.append(name) or "did you mean mcp_github?")
        self.assertEqual(asked, ["mcp_githb"])
        self.assertTrue(shown.endswith("NameError: name 'mcp_githb' is not defined (did you mean mcp_github?)"), shown)

    def test_interrupted(self):
        described = errors.describe(raised("import asyncio\nraise asyncio.CancelledError()"), nothing, True)
        self.assertEqual(described["type"], "KeyboardInterrupt")
        self.assertTrue(described["traceback"].endswith("CancelledError()\nKeyboardInterrupt"))
