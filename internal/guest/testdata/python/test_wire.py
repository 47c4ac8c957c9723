import json
import unittest

from codemode_guest import wire


class TestWire(unittest.TestCase):
    VALUES = [
        None,
        True,
        [],
        {},
        "",
        'a"\\\n\0\x1b\u2028é😀',
        -5,
        10**40,
        0.1,
        [1, [2.5, {"a": [None, False]}]],
        {"é": {"": []}},
    ]

    def test_round_trip_and_json_agrees(self):
        for value in self.VALUES:
            encoded = wire.dumps(value)
            self.assertNotIn(b"\n", encoded)
            self.assertEqual(json.loads(encoded), value)
            self.assertEqual(wire.loads(encoded), value)
            self.assertEqual(wire.loads(b" \t" + json.dumps(value, indent=1).encode() + b" \r"), value)

    def test_lone_surrogate_becomes_its_escape(self):
        self.assertEqual(wire.dumps("a\ud800"), b'"a\\ud800"')
        self.assertEqual(wire.loads(b'"a\\ud800"'), "a\ud800")

    def test_refuses(self):
        for value in ({1}, b"x", object(), float("nan"), float("inf"), [1j]):
            with self.assertRaises((TypeError, ValueError)):
                wire.dumps(value)
        circle = []
        circle.append(circle)
        with self.assertRaises((RecursionError, ValueError)):
            wire.dumps(circle)

    def test_more_digits_than_python_converts(self):
        self.assertEqual(wire.loads(b"1" * 100_000), float("inf"))

    def test_id_of_an_answer(self):
        self.assertEqual(wire.answer_id(b'{"jsonrpc":"2.0","id":17,"result":[[['), 17)
        self.assertIsNone(wire.answer_id(b'{"jsonrpc":"2.0","method":"x"}'))
        self.assertIsNone(wire.answer_id(b'{"jsonrpc":"2.0","id":"x","result":1}'))
