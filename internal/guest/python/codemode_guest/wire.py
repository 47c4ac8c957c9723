"""JSON as the channel needs it.

The json package imports re, which costs 5 ms at start (3.11); the C scanner and encoder below it
do not. Where a Python lacks them, or has changed them, the package takes over.
"""

from .early import builtins as __builtins__


def _refuse(value):
    raise TypeError(f"{type(value).__name__} is not JSON serializable")


class _Scan:
    """The settings json.decoder.JSONDecoder would hand to the scanner."""

    strict = True
    object_hook = object_pairs_hook = None
    parse_float = float
    parse_int = int
    parse_constant = float
    memo = {}


class _LenientScan(_Scan):
    @staticmethod
    def parse_int(digits):
        try:
            return int(digits)
        except ValueError:  # more digits than sys.set_int_max_str_digits allows
            return float(digits)


try:
    import _json

    _scan = _json.make_scanner(_Scan)
    _scan_lenient = _json.make_scanner(_LenientScan)
    quote = _json.encode_basestring
    _encode = _json.make_encoder(None, _refuse, quote, None, ":", ",", False, False, False)
    if _scan('{"a":[1]}', 0) != ({"a": [1]}, 9) or "".join(_encode({"a": [1]}, 0)) != '{"a":[1]}':
        raise ImportError("unexpected _json")

    def loads(line):
        text = str(line, "utf-8")
        start = len(text) - len(text.lstrip())
        try:
            return _scan(text, start)[0]
        except ValueError:
            return _scan_lenient(text, start)[0]

    def _dumps(value):
        return "".join(_encode(value, 0))

except (ImportError, AttributeError, TypeError):
    import json

    loads = json.loads
    _encoder = json.JSONEncoder(ensure_ascii=False, check_circular=False, allow_nan=False, separators=(",", ":"))
    _dumps = _encoder.encode
    quote = json.encoder.encode_basestring


def dumps(value):
    """Encode a value as UTF-8; a lone surrogate becomes its JSON escape, which backslashreplace spells the same."""
    return _dumps(value).encode("utf-8", "backslashreplace")


def answer_id(line):
    """Find the id of an answer that cannot be decoded as a whole; the host writes it before the result."""
    _, found, rest = line[:80].partition(b'"id":')
    digits = rest.partition(b",")[0].strip()
    return int(digits) if found and digits.isdigit() else None
