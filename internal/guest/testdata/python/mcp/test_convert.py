"""Arguments: from any Python value to JSON."""

import array
import collections
import dataclasses
import datetime
import decimal
import enum
import json
import pathlib
import types
import unittest
import uuid

from mcp import Image, Resource
from mcp._convert import to_json
from mcp._values import AttrDict


@dataclasses.dataclass
class Point:
    x: int
    tags: set


Pair = collections.namedtuple("Pair", "a b")


class Color(enum.Enum):
    RED = "red"


class Level(enum.IntEnum):
    HIGH = 3


class Word(str):
    pass


class Scalar:
    """As numpy has them."""

    def tolist(self):
        return 7


class Model:
    """As pydantic has them."""

    def model_dump(self, mode):
        return {"mode": mode}


class Conversion(unittest.TestCase):
    def test_values(self):
        for value, want in (
            ([1, 2.5, True, None, "é😀"], [1, 2.5, True, None, "é😀"]),
            ((1, (2,)), [1, [2]]),
            ({3, 1, 2}, [1, 2, 3]),
            (frozenset(["b", "a"]), ["a", "b"]),
            (b"\x00\xff", "AP8="),
            (bytearray(b"x"), "eA=="),
            (memoryview(b"x"), "eA=="),
            (Point(1, {2}), {"x": 1, "tags": [2]}),
            (Pair(1, "x"), {"a": 1, "b": "x"}),
            (Color.RED, "red"),
            (Level.HIGH, 3),
            (Word("w"), "w"),
            (datetime.datetime(2024, 1, 2, 3, 4, tzinfo=datetime.timezone.utc), "2024-01-02T03:04:00+00:00"),
            (datetime.date(2024, 1, 2), "2024-01-02"),
            (datetime.time(3, 4), "03:04:00"),
            (datetime.timedelta(minutes=1), 60.0),
            (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
            (decimal.Decimal("1.5"), 1.5),
            (decimal.Decimal("100"), 100),
            (pathlib.PurePosixPath("/a/b"), "/a/b"),
            (Scalar(), 7),
            (array.array("i", [1, 2]), [1, 2]),
            (Model(), {"mode": "json"}),
            (range(3), [0, 1, 2]),
            (collections.deque([1]), [1]),
            ({"a": 1}.values(), [1]),
            (collections.OrderedDict(a=1), {"a": 1}),
            (AttrDict(a=AttrDict(b=1)), {"a": {"b": 1}}),
            (types.MappingProxyType({"a": 1}), {"a": 1}),
            ({1: "a", 2.5: "b", None: "c", True: "d", Color.RED: "e"}, {"1": "d", "2.5": "b", "null": "c", "red": "e"}),
            ({False: 0}, {"false": 0}),
            (Image(b"x", "image/png"), "eA=="),
            (Resource("u:x", text="words"), "words"),
            (Resource("u:x"), "u:x"),
            (10**3900, 10**3900),
        ):
            with self.subTest(value=str(value)[:60]):
                converted = to_json("x", value)
                self.assertEqual(converted, want)
                self.assertEqual(json.loads(json.dumps(converted, allow_nan=False)), want)

    def test_what_cannot_be_sent_is_named(self):
        loop = []
        loop.append(loop)
        deep = []
        for _ in range(100_000):
            deep = [deep]
        for value, kind, message in (
            (float("nan"), ValueError, "argument 'x': nan cannot be sent as JSON"),
            ({"a": [1, float("-inf")]}, ValueError, "argument \"x['a'][1]\": -inf cannot be sent as JSON"),
            (decimal.Decimal("NaN"), ValueError, "argument 'x': NaN cannot be sent as JSON"),
            ("a\ud800", ValueError, "argument 'x': the lone surrogate '\\ud800' at 1 cannot be sent as JSON"),
            (["\udc00"], ValueError, "argument 'x[0]': the lone surrogate '\\udc00' at 0 cannot be sent as JSON"),
            ({"\udc00": 1}, ValueError, "argument 'x': the lone surrogate '\\udc00' at 0 cannot be sent as JSON"),
            (10**5000, ValueError, "argument 'x': an integer of more than 4,000 digits cannot be sent"),
            (loop, ValueError, "argument 'x': is nested too deeply, or contains itself"),
            (deep, ValueError, "argument 'x': is nested too deeply, or contains itself"),
            (object(), TypeError, "argument 'x': a value of type object cannot be sent as JSON"),
            (len, TypeError, "argument 'x': a value of type builtin_function_or_method cannot be sent as JSON"),
            (Point, TypeError, "argument 'x': a class cannot be sent as JSON"),
            ((i for i in ()), TypeError, "argument 'x': a value of type generator cannot be sent as JSON"),
            (1j, TypeError, "argument 'x': a value of type complex cannot be sent as JSON"),
            ({(1, 2): 3}, TypeError, "argument 'x': a tuple cannot be a key in JSON"),
        ):
            with self.subTest(message), self.assertRaises(kind) as caught:
                to_json("x", value)
            self.assertEqual(str(caught.exception), message)
        while deep:  # 100,000 levels are too many for the garbage collector of old versions
            deep = deep.pop()

    def test_a_call_that_was_not_awaited(self):
        async def call():
            pass

        coroutine = call()
        with self.assertRaisesRegex(TypeError, "argument 'x': a call that was not awaited: write `await` before it"):
            to_json("x", coroutine)
        coroutine.close()

    def test_numpy_and_pandas(self):
        try:
            import numpy
            import pandas
        except ImportError:
            self.skipTest("no numpy and pandas")
        frame = pandas.DataFrame({"a": [1, 2]})
        for value, want in (
            (numpy.int64(3), 3),
            (numpy.float32(0.5), 0.5),
            (numpy.bool_(True), True),
            (numpy.arange(4).reshape(2, 2), [[0, 1], [2, 3]]),
            (frame, [{"a": 1}, {"a": 2}]),
            (frame["a"], [1, 2]),
            (pandas.Timestamp("2024-01-02"), "2024-01-02T00:00:00"),
        ):
            self.assertEqual(to_json("x", value), want)
        for value in (numpy.float64("nan"), pandas.NaT):
            with self.assertRaises(ValueError):
                to_json("x", value)


if __name__ == "__main__":
    unittest.main()
