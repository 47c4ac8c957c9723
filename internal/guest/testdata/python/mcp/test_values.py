"""Results: from a CallToolResult to a value."""

import copy
import json
import pickle
import unittest

import fake
import mcp
from mcp._catalog import Tool
from mcp._values import AttrDict, value_of, wrap


def value(result, **more):
    return value_of(result, "s", Tool(fake.tool("t", **more)), {})


class Values(unittest.TestCase):
    def test_structured_content_comes_first(self):
        result = {**fake.text("text"), "structuredContent": {"a": {"b": [{"c": 1}]}}}
        self.assertEqual(value(result).a.b[0].c, 1)

    def test_a_wrapped_primitive_is_unwrapped(self):
        structured = {"structuredContent": {"result": [1, {"a": 2}]}}
        self.assertEqual(value(structured, wrapped=True)[1].a, 2)
        self.assertEqual(value(structured), {"result": [1, {"a": 2}]})
        both = {"structuredContent": {"result": 1, "more": 2}}
        self.assertEqual(value(both, wrapped=True), {"result": 1, "more": 2})
        self.assertIsNone(value({"structuredContent": {"result": None}}, wrapped=True))

    def test_an_object_that_repeats_the_text_is_the_text(self):
        result = {**fake.text("- TODO"), "structuredContent": {"content": "- TODO"}}
        self.assertEqual(value(result), "- TODO")
        for structured in ({"content": "other"}, {"content": "- TODO", "more": 1}, {"content": ["- TODO"]}):
            self.assertEqual(value({**result, "structuredContent": structured}), structured)

    def test_one_text(self):
        for text, want in (
            ("plain", "plain"),
            ("", ""),
            ('{"a": 1}', {"a": 1}),
            (' \n[1, {"a": 2}]\n', [1, {"a": 2}]),
            ('"quoted"', '"quoted"'),
            ("12", "12"),
            ("null", "null"),
            ('{"a": 1} and more', '{"a": 1} and more'),
            ("[link](x)", "[link](x)"),
            ("[" * 100_000, "[" * 100_000),
            ("[" + "1" * 5000 + "]", ...),
        ):
            with self.subTest(text[:40]):
                got = value(fake.text(text))
                if want is not ...:
                    self.assertEqual(got, want)

    def test_nothing(self):
        self.assertIsNone(value({}))
        self.assertIsNone(value({"content": [], "structuredContent": None}))

    def test_what_is_no_content_is_passed_on(self):
        for content, want in (
            ("words", "words"),
            ({"type": "text", "text": "words"}, "words"),
            (["words", 7], ["words", 7]),
            ([{"type": "text", "text": {"a": [1]}}], {"a": [1]}),
            ([{"type": ["text"], "text": "words"}], {"type": ["text"], "text": "words"}),
            ([{"type": "resource", "resource": "f:a"}], {"type": "resource", "resource": "f:a"}),
            ([None], None),
        ):
            with self.subTest(content):
                self.assertEqual(value({"content": content}), want)
        self.assertEqual(value({"content": "words", "structuredContent": {"content": "words"}}), "words")
        for content in ("no such file", ["no such file"], {"text": "no such file"}):
            with self.assertRaisesRegex(mcp.ToolError, "no such file"):
                value({"content": content, "isError": True})

    def test_blocks(self):
        result = {
            "content": [
                {"type": "text", "text": '{"a": 1}'},
                {"type": "image", "data": "eA==", "mimeType": "image/png"},
                {"type": "audio", "data": "eA==", "mimeType": "audio/wav"},
                {"type": "resource", "resource": {"uri": "f:a", "mimeType": "text/plain", "text": "words"}},
                {"type": "resource", "resource": {"uri": "f:b", "blob": "eA=="}},
                {"type": "resource_link", "uri": "f:c", "name": "c", "size": 3, "_meta": {"x": 1}},
                {"type": "hologram", "depth": {"cm": 3}},
            ],
            "_meta": {"x": 1},
        }
        data, image, audio, text, blob, link, other = value(result)
        self.assertEqual(data.a, 1)
        self.assertEqual((type(image), image.data, image.mime_type), (mcp.Image, b"x", "image/png"))
        self.assertEqual((type(audio), audio.data, audio.mime_type), (mcp.Audio, b"x", "audio/wav"))
        self.assertEqual((text.uri, text.text, text.mime_type, str(text)), ("f:a", "words", "text/plain", "words"))
        self.assertEqual((blob.data, blob.text, blob.mime_type), (b"x", None, None))
        self.assertEqual((link.uri, link.name, link.size, link.data), ("f:c", "c", 3, None))
        self.assertEqual(other.depth.cm, 3)
        self.assertEqual(
            [repr(v) for v in (image, text, blob, link)],
            [
                "<mcp.Image image/png, 1 bytes>",
                "<mcp.Resource f:a text/plain, 5 characters>",
                "<mcp.Resource f:b, 1 bytes>",
                "<mcp.Resource f:c, link>",
            ],
        )
        self.assertEqual(pickle.loads(pickle.dumps(image)), image)
        self.assertEqual(value({"content": result["content"][1:2]}), image)
        with self.assertRaisesRegex(ValueError, "f:c is a link"):
            link.save("/nonexistent")

    def test_data_that_is_not_base64(self):
        with self.assertRaisesRegex(ValueError, "not base64"):
            value({"content": [{"type": "image", "data": "x"}]})

    def test_a_deep_value(self):
        deep = {}
        for _ in range(50_000):
            deep = {"a": deep}
        self.assertEqual(type(value({"structuredContent": deep}).a.a.a), AttrDict)
        while deep:
            deep = deep.popitem()[1]


class AttrDicts(unittest.TestCase):
    def setUp(self):
        self.value = wrap({"title": "t", "items": [1], "user": {"name": "n"}, "a b": 1, "class": 2})

    def test_keys_are_attributes(self):
        self.assertEqual((self.value.title, self.value.user.name, self.value["a b"]), ("t", "n", 1))
        self.assertEqual(getattr(self.value, "class"), 2)
        self.value.title = "u"
        del self.value.user
        self.assertEqual(("u", False), (self.value["title"], "user" in self.value))
        self.assertIn("title", dir(self.value))
        self.assertNotIn("a b", dir(self.value))

    def test_methods_come_first(self):
        self.assertEqual(list(self.value.items())[0], ("title", "t"))
        self.assertEqual(self.value["items"], [1])

    def test_a_missing_attribute(self):
        for name, message in (
            ("titel", "no key or attribute 'titel'; did you mean 'title'?"),
            ("zzzzz", "no key or attribute 'zzzzz'; it has 'title', 'items', 'user', 'a b', 'class'"),
        ):
            with self.assertRaises(AttributeError) as caught:
                getattr(self.value, name)
            self.assertEqual(str(caught.exception), message)
        with self.assertRaises(AttributeError):
            del self.value.nothing
        self.assertFalse(hasattr(AttrDict({"__deepcopy__": 1}), "__deepcopy__"))

    def test_a_missing_key(self):
        for name, message in (
            ("titel", "did you mean 'title'?"),
            ("zzzzz", "it has 'title', 'items', 'user', 'a b', 'class'"),
            (3, "it has 'title', 'items', 'user', 'a b', 'class'"),
        ):
            with self.assertRaises(KeyError) as caught:
                self.value[name]
            self.assertEqual(caught.exception.args, (name,))
            self.assertEqual(pickle.loads(pickle.dumps(caught.exception)).meant(), message)
        self.assertEqual(AttrDict().get("x", 1), 1)

    def test_it_is_a_dict(self):
        plain = json.loads(json.dumps(self.value))
        self.assertEqual(self.value, plain)
        self.assertEqual(repr(self.value), repr(plain))
        for again in (pickle.loads(pickle.dumps(self.value)), copy.deepcopy(self.value), self.value.copy()):
            self.assertEqual((again, type(again), type(again.user)), (self.value, AttrDict, AttrDict))


if __name__ == "__main__":
    unittest.main()
