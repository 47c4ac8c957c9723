"""From a CallToolResult to the value that code wants."""

from _functools import partial

from ._errors import ToolError, with_signature
from ._media import Audio, Image, Resource


class AttrDict(dict):
    """A dict whose keys can also be read and set as attributes: issue.title. A dict's own methods come first."""

    __slots__ = ()

    def __missing__(self, name):
        error = KeyError(name)
        error.meant = partial(_meant, self, name)  # looked for where it is shown: most are caught
        raise error

    def __getattr__(self, name):
        # No key answers for Python's own protocols: copy, pickle and numpy look for such names.
        if name in self and not (name.startswith("__") and name.endswith("__")):
            return self[name]
        raise _no_attribute(self, name)

    def __setattr__(self, name, value):
        self[name] = value

    def __delattr__(self, name):
        if name not in self:
            raise _no_attribute(self, name)
        del self[name]

    def __dir__(self):
        return [*dict.__dir__(self), *(key for key in self if isinstance(key, str) and key.isidentifier())]

    def copy(self):
        return AttrDict(self)

    def __reduce__(self):
        return AttrDict, (dict(self),)


def _meant(value, name):
    """What a key that is not there was meant to be, as a phrase; empty for no idea."""
    from ._names import listed, nearest

    meant = nearest(name, [key for key in value if isinstance(key, str)])
    if meant is not None:
        return f"did you mean {meant!r}?"
    names = listed(map(repr, value))
    return f"it has {names}" if names else ""


def _no_attribute(value, name):
    meant = _meant(value, name)
    error = AttributeError(f"no key or attribute {name!r}" + (f"; {meant}" if meant else ""))
    error.obj = value  # or Python would add a suggestion of its own
    return error


def wrap(value):
    """Make every dict within decoded JSON an AttrDict; lists are changed in place."""
    top = [value]
    todo = [top]
    while todo:  # not recursive: the depth is the server's choice
        box = todo.pop()
        for key, item in box.items() if isinstance(box, dict) else enumerate(box):
            if type(item) is dict:
                item = box[key] = AttrDict(item)
            if isinstance(item, (dict, list)):
                todo.append(item)
    return top[0]


def is_error(result):
    """Say whether a result is an error by its isError: codemode takes all but false and null for true, too."""
    return result.get("isError") is not None and result["isError"] is not False


def value_of(result, server, tool, arguments):
    """Return what a tool call returns; raise ToolError where the result says that it failed.

    tool is the _catalog.Tool. Content that is no list of blocks is passed on as it is.
    """
    content = result.get("content") or []
    if not isinstance(content, list):
        content = [content]
    if is_error(result):
        message = "\n".join(filter(None, map(_text_of, content)))
        message = message or f"{server}.{tool.name} failed and did not say why"
        message = with_signature(message, tool.signature)
        raise ToolError(message, server=server, tool=tool.name, arguments=arguments, content=wrap(content))
    structured = result.get("structuredContent")
    if structured is not None:
        if tool.wrapped and isinstance(structured, dict) and list(structured) == ["result"]:
            structured = structured["result"]
        elif _is_text_again(structured, content):
            return _text_of(content[0])
        return wrap(structured)
    values = [_block(block) for block in content]
    if len(values) > 1:
        return values
    return values[0] if values else None


def _is_text_again(structured, content):
    """Whether an object says nothing but the one text block: then that is what a server has to say."""
    if not isinstance(structured, dict) or len(structured) != 1 or len(content) != 1:
        return False
    text = _text_of(content[0])
    return text is not None and next(iter(structured.values())) == text


def _text_of(block):
    """The text of a content block, or that which a careless server has sent in the place of one; else None."""
    text = block.get("text") if isinstance(block, dict) else block
    return text if isinstance(text, str) else None


def embedded(contents):
    """The contents of a resource."""
    data = _decode(contents["blob"]) if isinstance(contents.get("blob"), str) else None
    text = contents["text"] if isinstance(contents.get("text"), str) else None
    return Resource(contents.get("uri"), contents.get("mimeType"), text=text, data=data)


def _block(block):
    """The value of one content block of a tool's, or of what a careless server has sent in the place of one."""
    if not isinstance(block, dict):
        return wrap(block)
    text = content_of(block)
    return _parsed(text) if isinstance(text, str) else text


def content_of(block):
    """The value of one content block, a text as it is; a block of a kind unknown here is its own value."""
    kind = block.get("type")
    if kind == "text":
        return wrap(block.get("text") or "")
    if kind in ("image", "audio"):
        make = Image if kind == "image" else Audio
        return make(_decode(block.get("data")), block.get("mimeType") or "application/octet-stream")
    if kind == "resource" and isinstance(block.get("resource"), dict):
        return embedded(block["resource"])
    if kind == "resource_link":
        about = {key: block.get(key) for key in ("name", "title", "description", "size")}
        return Resource(block.get("uri"), block.get("mimeType"), **about)
    return wrap(block)


def _parsed(text):
    """The value of a text that is a JSON object or array, else the text."""
    start = text.lstrip(" \t\r\n")[:1]
    if start != "{" and start != "[":
        return text
    import json  # imports re, 5 ms: most tools never get here

    try:
        return wrap(json.loads(text))
    except (ValueError, RecursionError):
        return text


def _decode(data):
    import binascii

    try:
        return binascii.a2b_base64(data or "")
    except (ValueError, TypeError) as error:
        raise ValueError(f"the server sent data that is not base64: {error}") from None
