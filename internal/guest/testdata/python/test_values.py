import unittest

from codemode_guest import values


class Dictionary(dict):
    pass


class TestValues(unittest.TestCase):
    def test_none_is_no_value(self):
        self.assertIsNone(values.describe(None))

    def test_plain(self):
        for value in (0, "", [], {}, [1, "x", {"a": None}], 1.5, False):
            self.assertEqual(values.describe(value), {"repr": repr(value), "json": value})

    def test_not_plain(self):
        circle = []
        circle.append(circle)
        deep = []
        for _ in range(200):
            deep = [deep]
        for value in ((1,), {1: 2}, {"a": {1}}, float("nan"), [float("-inf")], b"x", Dictionary(), circle, deep, object()):
            self.assertEqual(list(values.describe(value)), ["repr"], value)

    def test_dictionaries_of_mcp_are_plain(self):
        kind = type("Object", (dict,), {"__module__": "mcp.results"})
        self.assertEqual(values.describe(kind(a=1))["json"], {"a": 1})

    def test_integer_with_too_many_digits(self):
        self.assertEqual(list(values.describe(1 << 100_000)), ["repr"])

    def test_repr_is_cut(self):
        text = values.describe("x" * 10_000)["repr"]
        self.assertLess(len(text), values.REPR + 40)
        self.assertTrue(text.endswith("… (1,810 more characters)"), text[-40:])

    def test_large_json_is_left_out(self):
        self.assertIn("json", values.describe("x" * (values.JSON - 2)))
        for value in ("x" * values.JSON, ["x" * 1000] * 300, [0] * 100_000, "é" * (values.JSON // 2)):
            self.assertNotIn("json", values.describe(value))

    def test_broken_repr(self):
        class Broken:
            def __repr__(self):
                raise ValueError("why")

        self.assertEqual(values.safe_repr(Broken()), "<Broken object; its repr raised ValueError: why>")
