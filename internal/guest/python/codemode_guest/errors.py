"""An uncaught exception as text: the user's frames with their source lines, nothing of codemode's or a library's."""

from .early import builtins as __builtins__

import sys

from . import frames

_CAUSE = "The above exception was the direct cause of the following exception:"
_CONTEXT = "During handling of the above exception, another exception occurred:"
_MESSAGE = 4 << 10  # characters of a message
_FRAMES = 12  # frames of one exception
_CHAIN = 5  # exceptions of one chain
_GROUP = 10  # exceptions shown of a group, and levels of groups

# Python's own advice is for a program that starts the loop; here it already runs.
_HINTS = {
    "asyncio.run() cannot be called from a running event loop": "write `await main()` instead of `asyncio.run(main())`",
    "Runner.run() cannot be called from a running event loop": "write `await main()` instead",
    "This event loop is already running": "write `await` instead of `run_until_complete`",
    "Cannot run the event loop while another loop is running": "write `await` instead of `run_until_complete`",
}


def describe(error, suggest, stopped, instead=None):
    """Return what RunResult.error says of an exception.

    suggest(name) knows what an undefined name was meant to be, instead(error) what to do about a restriction. stopped:
    codemode interrupted the run, which shows as a KeyboardInterrupt even where it cancelled an await.
    """
    if stopped:
        lines = []
        while error is not None and error is not error.__context__:
            lines += _frames(error.__traceback__)
            # Up to 3.10 each task that passes a cancellation on makes a new exception of it.
            error = error.__context__ if sys.version_info < (3, 11) else None
        text = "\n".join([*lines, "KeyboardInterrupt"])
        return {"type": "KeyboardInterrupt", "message": "", "traceback": text}
    lines = _chain(error, suggest, 0, set())
    way = instead and _way(error, instead)
    if way:
        lines[-1] = lines[-1].partition(". Did you mean: ")[0] + f"; {way}"
    return {"type": _type(error), "message": _cut(_message(error) or ""), "traceback": "\n".join(lines)}


def _way(error, instead):
    """What to do instead of what the last of a chain of exceptions tried, or else what brought it about."""
    try:
        return instead(error) or (error.__cause__ and instead(error.__cause__))
    except Exception:  # of an exception whose attributes are the user's
        return None


def _chain(error, suggest, depth, seen):
    blocks, link = [], None
    while error is not None and id(error) not in seen and len(blocks) < _CHAIN:
        seen.add(id(error))
        block = _one(error, suggest, depth, seen)
        blocks.append([*block, "", link, ""] if link else block)
        if error.__cause__ is not None:
            error, link = error.__cause__, _CAUSE
        elif error.__context__ is not None and not error.__suppress_context__:
            error, link = error.__context__, _CONTEXT
        else:
            error = None
    if len(blocks) > 1 and blocks[1][:-3] == blocks[0][-1:]:
        del blocks[1]  # a library's inner exception that says the same again, and where no code of the user's was
    return [line for block in reversed(blocks) for line in block]


def _one(error, suggest, depth, seen):
    lines = [*_frames(error.__traceback__), *_last_lines(error, suggest)]
    members = getattr(error, "exceptions", None)
    if isinstance(members, tuple) and depth < _GROUP and "ExceptionGroup" in _bases(error):
        for number, member in enumerate(members[:_GROUP], 1):
            block = _chain(member, suggest, depth + 1, seen)
            lines.append(f"  {number}. " + block[0].lstrip() if block else f"  {number}. (shown above)")
            lines += ["  " + line for line in block[1:]]
        if len(members) > _GROUP:
            lines.append(f"  … and {len(members) - _GROUP} more")
    return lines


def _bases(error):
    return " ".join(base.__name__ for base in type(error).__mro__)


def _frames(traceback):
    """The lines for the user's frames, the same shape as Python's."""
    calls = []  # [text, how often in a row]
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if frames.is_user(code.co_filename):
            text = _call(code, traceback.tb_lineno, traceback.tb_frame.f_globals)
            if calls and calls[-1][0] == text:
                calls[-1][1] += 1
            else:
                calls.append([text, 1])
        traceback = traceback.tb_next
    half = _FRAMES // 2
    if len(calls) > _FRAMES:
        calls[half:-half] = [[f"  … {len(calls) - _FRAMES} more calls", 1]]
    lines = []
    for text, times in calls:
        lines += [text] * min(times, 2)
        if times > 2:
            lines.append(f"  [previous line repeated {times - 2} more times]")
    return lines


def _call(code, number, variables):
    where = f'  File "{code.co_filename}", line {number}'
    if code.co_name != "<module>":
        where += f", in {code.co_name}"
    line = _source(code.co_filename, number, variables).strip()
    return f"{where}\n    {line[:400]}" if line else where


def _source(filename, number, variables):
    if filename in frames.sources:
        lines = frames.sources[filename].splitlines()
        return lines[number - 1] if 0 < number <= len(lines) else ""
    try:
        import linecache

        return linecache.getline(filename, number, variables)
    except Exception:
        return ""


def _last_lines(error, suggest):
    """'ValueError: x', the marked line of a SyntaxError, notes, and Python's own suggestions."""
    if _message(error) is None:
        return [f"{_type(error)}: <its str() raised an exception>"]
    if isinstance(error, SyntaxError) and error.text is None and error.lineno:
        error.text = _source(error.filename, error.lineno, {})  # the compiler proper knows no source
    try:
        from traceback import TracebackException

        shown = TracebackException(type(error), error, error.__traceback__, limit=0, lookup_lines=False)
        text = "".join(shown.format_exception_only()).rstrip("\n")
    except Exception:  # modules that the user broke, exceptions that cannot be looked at
        text = f"{_type(error)}: {_message(error)}".removesuffix(": ")
    text = _with_tool(text, error)
    text = text.removeprefix("__main__.")
    hint = _hint(error, suggest)
    if hint.startswith(" ("):
        text = text.partition(". Did you mean: ")[0]  # Python's own guess knows no servers
    return [_cut(text) + hint]


def _with_tool(text, error):
    """The text of a mcp.ToolError with the call that it is of."""
    kind = f"{_type(error)}: "
    if kind != "mcp.ToolError: " or not text.startswith(kind):
        return text
    return kind + error.named(text[len(kind) :])


def _hint(error, suggest):
    if isinstance(error, NameError):
        name = getattr(error, "name", None) or _message(error).partition("'")[2].partition("'")[0]  # 3.9 has no name
        meant = suggest(name) if name else None
        return f" ({meant})" if meant else ""
    if type(error) is KeyError and hasattr(error, "meant"):  # of a tool's result
        try:
            return f" ({error.meant()})".replace(" ()", "")
        except Exception:  # an exception of the user's
            return ""
    hint = _HINTS.get(_message(error)) if type(error) is RuntimeError else None
    return f"; {hint}" if hint else ""


def _type(error):
    kind = type(error)
    if kind.__module__ in ("builtins", "__main__"):
        return kind.__qualname__
    return f"{kind.__module__}.{kind.__qualname__}"


def _message(error):
    """str(error), or None where that raises."""
    try:
        return str(error)
    except Exception:
        return None


def _cut(text):
    if len(text) <= _MESSAGE:
        return text
    head, tail = text[: _MESSAGE * 3 // 4], text[-_MESSAGE // 4 :]
    return f"{head}… ({len(text) - _MESSAGE:,} characters left out) …{tail}"
