"""The code of a run as Python compiles it, and what can be said of it before it is executed."""

from .early import builtins as __builtins__

VALUE = "_codemode_value"  # the variable that takes the value of a last expression

# From inspect, which is not imported for this.
_COROUTINE = 0x80
_ASYNC_GENERATOR = 0x200

# From ast, which takes a millisecond to import and is of no use to scripts.
_AWAIT = 0x2000  # PyCF_ALLOW_TOP_LEVEL_AWAIT

# What fails while no loop runs, and what fails while one does. A timeout or a TaskGroup wants a loop, too,
# but is of no use without an await beside it.
_WANT_LOOP = {"all_tasks", "create_task", "current_task", "get_running_loop"}
_START_LOOP = {"Runner", "run", "run_forever", "run_until_complete"}


def compile_run(source, filename, script):
    """Compile code so that it leaves the value of a last expression in VALUE; a script's is not wanted."""
    source = _unfenced(source.lstrip("\ufeff"))
    if script:
        return compile(source, filename, "exec", _AWAIT, True)
    import _ast

    tree = compile(source, filename, "exec", _AWAIT | _ast.PyCF_ONLY_AST, True)
    last = tree.body[-1] if tree.body else None
    if isinstance(last, _ast.Expr) and not source.rstrip().endswith(";"):
        where = {name: getattr(last, name) for name in ("lineno", "col_offset", "end_lineno", "end_col_offset")}
        target = _ast.Name(VALUE, _ast.Store(), **where)
        tree.body[-1] = _ast.Assign([target], last.value, None, **where)
    return compile(tree, filename, "exec", _AWAIT, True)


def _unfenced(source):
    """Take code out of the fence that Markdown has around it; its lines keep their numbers."""
    fence, _, body = source.partition("\n")
    body = body.rstrip()
    if fence.rstrip() in ("```", "```python", "```py") and body.endswith("\n```"):
        return "\n" + body[:-3]
    return source


def awaits(code):
    """Whether code has a top-level await, so that executing it makes a coroutine."""
    return bool(code.co_flags & _COROUTINE)


def wants_loop(code):
    """Whether code without a top-level await can only work within a running loop.

    The body of an async function does not count: whoever executes it runs a loop.
    """
    return not _WANT_LOOP.isdisjoint(names(code, _COROUTINE | _ASYNC_GENERATOR)) and _START_LOOP.isdisjoint(names(code))


def names(code, leave_out=0):
    """The names a code object and those within it may look up: global ones and attributes.

    Code objects within it that have one of the flags leave_out are passed over.
    """
    yield from code.co_names
    for constant in code.co_consts:
        if type(constant) is type(code) and not constant.co_flags & leave_out:
            yield from names(constant, leave_out)
