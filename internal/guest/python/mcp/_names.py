"""Did you mean?"""


def nearest(name, candidates):
    """Return the candidate that a name was most likely meant to be, or None."""
    typed = _fold(name)
    best, least = None, len(typed) // 3 + 1  # of two letters none may be wrong, of three one
    for candidate in candidates:
        edits = _distance(typed, _fold(candidate), least)
        if edits < least:
            best, least = candidate, edits
    if best is None and len(typed) >= 4:  # a part of the name: create for create_issue
        parts = [c for c in candidates if typed in _fold(c)]
        best = min(parts, key=len, default=None)
    return best


def listed(names, most=12):
    """Return names for a sentence; nothing if they are too many to be of help."""
    names = list(names)
    return ", ".join(names) if 0 < len(names) <= most else ""


def _fold(name):
    """Make names equal that differ in case and punctuation alone."""
    return str(name).lower().replace("_", "").replace("-", "").replace(" ", "")


def _distance(a, b, limit):
    """The number of letters to add, drop, change or swap with a neighbour; at most limit."""
    if abs(len(a) - len(b)) >= limit:
        return limit
    before, last = [], list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        row = [i]
        for j, y in enumerate(b, 1):
            edits = min(last[j] + 1, row[-1] + 1, last[j - 1] + (x != y))
            if i > 1 and j > 1 and x == b[j - 2] and a[i - 2] == y:
                edits = min(edits, before[j - 2] + 1)
            row.append(edits)
        before, last = last, row
    return min(last[-1], limit)
