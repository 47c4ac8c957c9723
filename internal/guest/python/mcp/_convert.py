"""From any Python value to what JSON can say."""

import sys

_DIGITS = 4000  # of an integer: more than sys.set_int_max_str_digits always allows


class _Refused(Exception):
    """A value that JSON cannot say, and where it is within the argument."""

    def __init__(self, kind, reason):
        self.kind = kind
        self.reason = reason
        self.path = ""


def to_json(name, value):
    """Convert the argument of that name, or raise TypeError or ValueError that names it."""
    try:
        return _convert(value)
    except _Refused as refused:
        raise refused.kind(f"argument {name + refused.path!r}: {refused.reason}") from None
    except RecursionError:
        raise ValueError(f"argument {name!r}: is nested too deeply, or contains itself") from None


def _convert(value):
    kind = type(value)
    if kind is str:
        return _text(value)
    if value is None or kind is bool:
        return value
    if kind is int:
        return _integer(value)
    if kind is float:
        return _number(value)
    if kind is list or kind is tuple:
        return _list(value)
    if kind is dict:
        return _object(value.items())
    return _other(value, kind)


def _text(value):
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError as error:
            bad = value[error.start]
            raise _Refused(ValueError, f"the lone surrogate {bad!a} at {error.start} cannot be sent as JSON") from None
    return value


def _integer(value):
    if value.bit_length() > _DIGITS * 3.3:
        raise _Refused(ValueError, f"an integer of more than {_DIGITS:,} digits cannot be sent")
    return value


def _number(value):
    if value - value != 0:
        raise _Refused(ValueError, f"{value} cannot be sent as JSON")
    return value


def _list(values):
    converted = []
    for item in values:
        try:
            converted.append(_convert(item))
        except _Refused as refused:
            refused.path = f"[{len(converted)}]{refused.path}"
            raise
    return converted


def _object(items):
    converted = {}
    for key, item in items:
        name = key if type(key) is str and key.isascii() else _key(key)
        try:
            converted[name] = _convert(item)
        except _Refused as refused:
            refused.path = f"[{key!r}]{refused.path}"
            raise
    return converted


def _key(key):
    """A key of an object: a string, or what the json module writes for one."""
    name = _convert(key)
    if isinstance(name, str):
        return name
    if name is None or isinstance(name, bool):
        return {None: "null", True: "true", False: "false"}[name]
    if isinstance(name, (int, float)):
        return repr(name)
    raise _Refused(TypeError, f"a {type(key).__name__} cannot be a key in JSON")


def _other(value, kind):
    """Everything but JSON's own types. Other libraries' types are known by what they can do."""
    for matches, convert in _RULES:
        if matches(value, kind):
            return convert(value)
    if hasattr(kind, "__await__"):
        raise _Refused(TypeError, "a call that was not awaited: write `await` before it")
    shown = "a class" if isinstance(value, type) else f"a value of type {kind.__name__}"
    raise _Refused(TypeError, f"{shown} cannot be sent as JSON")


def _has(*names):
    return lambda value, kind: all(callable(getattr(kind, name, None)) for name in names)


def _is(*types):
    return lambda value, kind: issubclass(kind, types)


def _from(module, name):
    """Whether a value is of a class that may not have been imported."""

    def matches(value, kind):
        wanted = getattr(sys.modules.get(module), name, None)
        return wanted is not None and isinstance(value, wanted)

    return matches


def _base64(value):
    import binascii

    return binascii.b2a_base64(bytes(value), newline=False).decode()


def _media(value):
    text = getattr(value, "text", None)
    if text is not None:
        return _text(text)
    if value.data is None:
        return _text(value.uri)
    return _base64(value.data)


def _decimal(value):
    if not value.is_finite():
        raise _Refused(ValueError, f"{value} cannot be sent as JSON")
    return _integer(int(value)) if value == value.to_integral_value() else float(value)


def _moment(value):
    if value != value:
        raise _Refused(ValueError, f"{value} cannot be sent as JSON")
    return value.isoformat()


def _set(value):
    try:
        return _list(sorted(value))  # the same call for the same set
    except TypeError:
        return _list(value)


def _path(value):
    path = value.__fspath__()
    return _text(path.decode("utf-8", "surrogateescape") if isinstance(path, bytes) else path)


def _fields(value):
    return _object((name, getattr(value, name)) for name in type(value).__dataclass_fields__)


def _is_media(value, kind):
    return kind.__module__ == "mcp" and hasattr(value, "mime_type")


def _is_namedtuple(value, kind):
    return issubclass(kind, tuple) and hasattr(kind, "_fields")


# The first that matches wins; types that are also something plainer come before it.
_RULES = (
    (_from("enum", "Enum"), lambda value: _convert(value.value)),
    (_is(str), lambda value: _text(str.__str__(value))),
    (_is(int), lambda value: _integer(int(value))),
    (_is(float), lambda value: _number(float(value))),
    (_is(bytes, bytearray, memoryview), _base64),
    (_is_media, _media),
    (lambda value, kind: hasattr(kind, "__dataclass_fields__"), _fields),
    (_is_namedtuple, lambda value: _object(zip(value._fields, value))),
    (_is(list, tuple), _list),
    (_is(dict), lambda value: _object(value.items())),
    (_is(set, frozenset), _set),
    (_has("isoformat"), _moment),
    (_has("total_seconds"), lambda value: _number(value.total_seconds())),
    (_has("__fspath__"), _path),
    (_from("uuid", "UUID"), str),
    (_from("decimal", "Decimal"), _decimal),
    (_has("model_dump"), lambda value: _convert(value.model_dump(mode="json"))),  # pydantic
    (_from("pandas", "DataFrame"), lambda value: _convert(value.to_dict("records"))),
    (_has("tolist"), lambda value: _convert(value.tolist())),  # numpy, pandas, array.array
    (_has("item"), lambda value: _convert(value.item())),
    (_has("keys", "__getitem__"), lambda value: _object((key, value[key]) for key in value.keys())),
    (_has("__len__", "__iter__"), _list),  # a container, not a generator: that could be endless, and is used up
)
