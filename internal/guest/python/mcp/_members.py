"""What is wrong within an argument, told before it is sent: a member that is missing or that nothing knows, a list for
an object, a text that is no number, a word that is not among those a schema lists. Of all else the server has the last
word: many take 5 for "5", or "yes" for True.
"""

_DEPTH = 12  # of schemas within schemas: they may refer to themselves


def problem(schema, key, value):
    """Return what is wrong within the argument of that key, as a phrase, or None."""
    found = _find(schema, _of(_of(schema, "properties"), key), value, str(key), 0)
    return found and f"argument {found[0]!r} {found[1]}"


def _find(root, schema, value, where, depth):
    """The first thing wrong, as where it is and what it is; None where there is nothing, or nothing certain."""
    schema = _followed(root, schema)
    if not isinstance(schema, dict) or depth > _DEPTH:
        return None
    choices = schema.get("anyOf") or schema.get("oneOf")
    if isinstance(choices, list):
        found = [_find(root, choice, value, where, depth + 1) for choice in choices]
        if not all(found):
            return None
        within = [each for each in found if not each[1].startswith("must be")]
        return (within or found or [None])[0]
    kind = schema.get("type")
    if isinstance(value, dict):
        if _excludes(kind, "object"):
            return where, f"must be {_article(kind)}, not an object"
        return _in_object(root, schema, value, where, depth)
    if isinstance(value, list):
        if _excludes(kind, "array"):
            return where, f"must be {_article(kind)}, not a list"
        return _in_list(root, schema, value, where, depth)
    if value is None:
        return None
    if not isinstance(value, str):
        if kind in ("object", "array"):
            return where, f"must be {_article(kind)}, not {value!r}"
        return None
    if kind in ("integer", "number") and not _is_numeric(value):
        return where, f"must be {_article(kind)}, not {_shown(value)}"
    words = schema.get("enum")
    if kind == "string" and isinstance(words, list) and value.lower() not in [str(word).lower() for word in words]:
        return where, f"must be one of {_listed(words)}, not {_shown(value)}"
    return None


def _is_numeric(text):
    try:
        float(text)
    except ValueError:
        return False
    return True


_MOST_WORDS = 12  # of an enumeration, in an error


def _listed(words):
    more = f" and {len(words) - _MOST_WORDS} more" if len(words) > _MOST_WORDS else ""
    return ", ".join(map(repr, words[:_MOST_WORDS])) + more


def _shown(text):
    return repr(text if len(text) <= 60 else text[:60] + "…")


def _in_object(root, schema, value, where, depth):
    properties = _of(schema, "properties")
    if not isinstance(properties, dict):
        return None
    required = schema.get("required")
    missing = [key for key in required if key not in value] if isinstance(required, list) else []
    unknown = [key for key in value if key not in properties]
    if missing:
        return where, f"is missing {', '.join(map(repr, missing))}{_instead(missing, unknown)}"
    if unknown and schema.get("additionalProperties") is False:
        names = ", ".join(map(repr, properties))
        return where, f"has {', '.join(map(repr, unknown))}, which it does not take; it has {names}"
    for key, inner in value.items():
        found = key in properties and _find(root, properties[key], inner, f"{where}[{key!r}]", depth + 1)
        if found:
            return found
    return None


def _in_list(root, schema, value, where, depth):
    items = schema.get("items")
    if not isinstance(items, dict):
        return None
    for number, inner in enumerate(value):
        found = _find(root, items, inner, f"{where}[{number}]", depth + 1)
        if found:
            return found
    return None


def _instead(missing, unknown):
    return f" (it has {', '.join(map(repr, unknown))})" if missing and unknown else ""


def _excludes(kind, wanted):
    return kind != wanted if isinstance(kind, str) else isinstance(kind, list) and wanted not in kind


def _article(kind):
    kind = {"array": "list"}.get(kind, kind) if isinstance(kind, str) else " or ".join(map(str, kind))
    return ("an " if kind[:1] in "aeio" else "a ") + kind


def _followed(root, schema):
    for _ in range(_DEPTH):
        reference = _of(schema, "$ref")
        if not isinstance(reference, str) or not reference.startswith("#/"):
            return schema
        schema = root
        for step in reference[2:].split("/"):
            schema = _of(schema, step.replace("~1", "/").replace("~0", "~"))
    return None


def _of(mapping, key):
    return mapping.get(key) if isinstance(mapping, dict) else None
