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


class TestTables(unittest.TestCase):
    def setUp(self):
        try:
            import pandas
        except ImportError:
            self.skipTest("no pandas")
        self.pandas = pandas

    def describe(self, value):
        kept = []
        return values.describe(value, kept.append)["repr"], len(kept)

    def test_small(self):
        frame = self.pandas.DataFrame({"place": ["north", "south"], "sum": [4, 6]})
        want = "   place  sum\n0  north    4\n1  south    6\n\n[2 rows x 2 columns]"
        self.assertEqual(self.describe(frame), (want, 0))
        self.assertEqual(self.describe(frame["sum"]), ("0    4\n1    6\nName: sum, dtype: int64", 0))
        self.assertEqual(values.display_text(frame), want)

    def test_long(self):
        frame = self.pandas.DataFrame({"n": range(100_000)})
        text, kept = self.describe(frame)
        self.assertEqual(len(text.splitlines()), 14)
        self.assertTrue(text.endswith("\n\n[100000 rows x 1 columns]; `_` is all of it"), text)
        self.assertTrue(text.startswith("           n\n0          0\n"), text)
        self.assertIn("\n99999  99999\n", text)
        text, more = self.describe(frame["n"])
        self.assertTrue(text.endswith("Name: n, Length: 100000, dtype: int64; `_` is all of it"), text)
        self.assertEqual((kept, more), (1, 1))

    def test_wide(self):
        for frame in (
            self.pandas.DataFrame({f"column {i}": ["x" * 1000] for i in range(1000)}),
            self.pandas.DataFrame({"x" * 1000: [1]}),
        ):
            text, kept = self.describe(frame)
            self.assertLessEqual(max(map(len, text.splitlines())), 140)
            self.assertIn(f"[1 rows x {frame.shape[1]} columns]", text)
            self.assertEqual(kept, int(frame.shape[1] > 1))
        text, _ = self.describe(self.pandas.Series(["x" * 1000]))
        self.assertLess(len(text), 300)

    def test_odd(self):
        for frame in (self.pandas.DataFrame(), self.pandas.DataFrame({"a": []}), self.pandas.Series([], dtype=object)):
            self.assertTrue(self.describe(frame)[0])

    def test_one_that_cannot_be_shown(self):
        class Broken(self.pandas.DataFrame):
            def to_string(self, *args, **kwargs):
                raise ValueError("why")

        self.assertIn("its repr raised ValueError: why", self.describe(Broken({"a": [1]}))[0])

