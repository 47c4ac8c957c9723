"""Tables of pandas as a person would write them down: their head, their tail and their shape, within a page's width."""

from .early import builtins as __builtins__

_SHOWN = {"max_rows": 20, "min_rows": 10}  # all rows of a table of 20, else five at each end
_CELL = 40  # characters
_WIDTH = 120  # of a line
_COLUMNS = (20, 12, 8, 6, 4)  # as many as fit into that


def shown(value):
    """Return a table as text, and whether that is all of it; None for what is no table, or cannot be shown so.

    It goes by the names of types, so that a program without pandas pays nothing for it.
    """
    names = {t.__name__ for t in type(value).__mro__ if t.__module__.partition(".")[0] == "pandas"}
    try:
        if "DataFrame" in names:
            return _frame(value)
        if "Series" in names:
            text = value.to_string(name=True, dtype=True, length="truncate", **_SHOWN)
            return _narrow(text), len(value) <= _SHOWN["max_rows"]
    except Exception:  # whatever a subclass makes of it: its repr is what there is
        pass
    return None


def _frame(frame):
    for columns in _COLUMNS:
        text = frame.to_string(max_cols=columns, max_colwidth=_CELL, show_dimensions=True, **_SHOWN)
        if max(map(len, text.splitlines())) <= _WIDTH:
            break
    rows, wide = frame.shape
    return _narrow(text), rows <= _SHOWN["max_rows"] and wide <= columns


def _narrow(text):
    lines = (line if len(line) <= _WIDTH else line[: _WIDTH - 1] + "…" for line in text.splitlines())
    return "\n".join(lines)
