"""The value of a last expression, small enough to be sent."""

from .early import builtins as __builtins__

from . import tables, wire

REPR = 8 << 10  # characters
JSON = 32 << 10  # bytes: what is larger is cut where it is shown, too
_DEPTH = 100


def describe(value, keep=None):
    """Return what RunResult.value says of a value, or None for None. keep(value) makes it `_`, where it is too long."""
    if value is None:
        return None
    table = tables.shown(value)
    if table is not None:
        text, whole = table
        if keep is not None and not whole:
            keep(value)
            text += "; `_` is all of it"
        return {"repr": cut(text, REPR)}
    text = safe_repr(value)
    described = {"repr": cut(text, REPR)}
    if keep is not None and len(text) > REPR:
        keep(value)
        described["repr"] = f"{text[:REPR]}… ({len(text) - REPR:,} more characters; `_` is the whole value)"
    encoded = plain_json(value)
    if encoded is not None:
        described["json"] = encoded
    return described


def display_text(value):
    """What display() prints of a value that is no image."""
    table = tables.shown(value)
    return repr(value) if table is None else table[0]


def safe_repr(value):
    try:
        return repr(value)
    except Exception as error:
        return cut(f"<{type(value).__name__} object; its repr raised {type(error).__name__}: {error}>", 300)


def cut(text, limit):
    if len(text) <= limit:
        return text
    return f"{text[:limit]}… ({len(text) - limit:,} more characters)"


def plain_json(value):
    """Return the value if it is plain JSON of at most JSON bytes, else None."""
    budget = [JSON]
    try:
        if _is_plain(value, budget, _DEPTH) and len(wire.dumps(value)) <= JSON:
            return value
    except (ValueError, RuntimeError):  # an integer of too many digits; changed by another thread meanwhile
        pass
    return None


def _is_plain(value, budget, depth):
    kind = type(value)
    budget[0] -= 1 + len(value) if kind is str else 1  # never more than its JSON takes
    if budget[0] < 0 or depth == 0:
        return False
    if value is None or kind in (str, bool, int):
        return True
    if kind is float:
        return value - value == 0  # neither NaN nor infinite
    if kind is list or (issubclass(kind, list) and kind.__module__.partition(".")[0] == "mcp"):
        return all(_is_plain(item, budget, depth - 1) for item in value)
    if kind is dict or (issubclass(kind, dict) and kind.__module__.partition(".")[0] == "mcp"):
        return all(
            type(key) is str and _is_plain(key, budget, depth) and _is_plain(item, budget, depth - 1)
            for key, item in value.items()
        )
    return False
