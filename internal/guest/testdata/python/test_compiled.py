import unittest

from codemode_guest import compiled


def code(source, script=False):
    return compiled.compile_run(source, "<run 1>", script)


class TestCompiled(unittest.TestCase):
    def test_value_of_a_last_expression(self):
        for source, value in (("1 + 1", 2), ("x = 1", None), ("5;", None), ("\ufeff7", 7), ("if 1:\n  5", None), ("", None)):
            variables = {}
            exec(code(source), variables)
            self.assertEqual(variables.get(compiled.VALUE), value, source)
        variables = {}
        exec(code("1 + 1", script=True), variables)
        self.assertNotIn(compiled.VALUE, variables)

    def test_code_in_a_fence(self):
        for source in ("```python\n1 + 1\n```\n", "```\n1 + 1\n```", "```py\r\n1 + 1\n```"):
            variables = {}
            exec(code(source), variables)
            self.assertEqual(variables[compiled.VALUE], 2, source)
        with self.assertRaises(SyntaxError) as raised:
            code("```python\nx = (]\n```")
        self.assertEqual(raised.exception.lineno, 2)
        with self.assertRaises(SyntaxError):
            code("```sh\nls\n```")

    def test_awaits(self):
        self.assertTrue(compiled.awaits(code("await f()")))
        self.assertFalse(compiled.awaits(code("async def f(): await g()")))

    def test_wants_loop(self):
        for source, wants in (
            ("asyncio.create_task(f())", True),
            ("from asyncio import get_running_loop as g; g()", True),
            ("def f():\n  return asyncio.create_task(g())\nf()", True),
            ("async def f():\n  asyncio.create_task(g())", False),
            ("async def f():\n  asyncio.create_task(g())\n  yield", False),
            ("async def f():\n  def g(): asyncio.create_task(h())", False),
            ("async def f():\n  pass\nasyncio.create_task(f())", True),
            ("t = loop.create_task(f()); loop.run_until_complete(t)", False),
            ("t = loop.create_task(f())\ndef g(): loop.run_forever()", False),
            ("def main(): asyncio.create_task(f())\nwith asyncio.Runner() as r: pass", False),
            ("timeout = 5", False),
            ("'create_task'", False),
        ):
            self.assertEqual(compiled.wants_loop(code(source)), wants, source)
