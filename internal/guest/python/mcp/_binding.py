"""From the arguments of a call to those a tool takes."""

from . import _members
from ._convert import to_json


def bind(tool, args, kwargs):
    """Return the arguments of a call by the keys of the tool's schema, as JSON can say them.

    Positional arguments go by the order of the signature; keywords are the signature's names or the schema's.
    A lone dict that can only be meant as all the arguments together is taken as such.
    """
    if len(args) == 1 and not kwargs and _is_arguments(tool, args[0]):
        return bind_dict(tool, args[0])
    if len(args) > len(tool.params):
        takes = len(tool.params)
        were = "was" if len(args) == 1 else "were"
        raise _wrong(tool, f"takes {takes} positional argument{'s' * (takes != 1)} but {len(args)} {were} given")
    given = {param["key"]: value for param, value in zip(tool.params, args)}
    return _bound(tool, given, kwargs, tool.by_name, tool.by_key)


def bind_dict(tool, arguments):
    """Return arguments that came in a dict: its keys are the schema's or, failing that, the signature's."""
    return _bound(tool, {}, arguments, tool.by_key, tool.by_name)


def _bound(tool, given, named, first, second):
    for name, value in named.items():
        param = first.get(name) or second.get(name)
        if param is None and not tool.extra:
            raise _wrong(tool, f"got an unexpected argument {name!r}{_meant(tool, name)}")
        key = param["key"] if param else name
        if key in given:
            raise _wrong(tool, f"got multiple values for argument {name!r}")
        given[key] = value
    missing = [p["name"] for p in tool.params if p["required"] and p["key"] not in given]
    if missing:
        raise _wrong(tool, f"is missing {', '.join(map(repr, missing))}")
    arguments = {}
    for key, value in given.items():
        param = tool.by_key.get(key)
        if param is None:
            arguments[to_json("name of an argument", key)] = to_json(str(key), value)
        elif value is not None or param["required"] or accepts_null(param["type"]):
            arguments[key] = to_json(param["name"], value)
        # Else None means "not given", and the server would refuse null.
    for key, value in arguments.items():
        problem = _members.problem(tool.input_schema, key, value)
        if problem:
            raise _wrong(tool, problem)
    return arguments


def accepts_null(annotation):
    """Whether null fits; the host writes None last of the alternatives."""
    return annotation in ("Any", "None") or annotation.endswith(" | None")


def _is_arguments(tool, value):
    """Whether a lone argument is a dict of them all: its keys are parameters, and the first takes no dict."""
    if not isinstance(value, dict) or not tool.params:
        return isinstance(value, dict)
    if not value:
        return False
    first = tool.params[0]["type"]
    if first == "Any" or any(alternative.startswith(("dict", "{")) for alternative in first.split(" | ")):
        return False
    return all(name in tool.by_key or name in tool.by_name for name in value)


def _meant(tool, name):
    from ._names import nearest

    meant = nearest(name, tool.by_name)
    return f" (did you mean {meant!r}?)" if meant else ""


def _wrong(tool, what):
    return TypeError(f"{tool.alias}() {what}; it is {tool.signature}")
