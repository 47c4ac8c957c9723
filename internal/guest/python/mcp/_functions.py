"""A function as text: whether the text is one function and nothing else, and what can be said of it unexecuted.

The host asks this of a guest that has executed nothing, before it keeps a function; the guest of a later session
asks it again, before it makes a function of what was kept.
"""

import __future__

import _ast
import builtins
import re
import sys
import time

_FLAGS = __future__.annotations.compiler_flag  # annotations are kept as text and never evaluated
_CANNOT = (SyntaxError, ValueError, OverflowError, RecursionError, MemoryError, SystemError)
_NAME = re.compile("[A-Za-z][A-Za-z0-9_]{0,63}")  # ASCII: no two names look alike
# What a name of Python's may have, and displays leave out: Default_Ignorable_Code_Point and XID_Continue.
_UNSEEN = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200c\u200d\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
# Modules of the standard library: after `from tools import *` their names must mean what they did. Python 3.9 knows
# only those that are built in.
_MODULES = getattr(sys, "stdlib_module_names", sys.builtin_module_names)
# Names that a run finds in place: no saved tool may have one of them, and one that uses them lacks nothing.
_GIVEN = {
    "mcp", "mcp_servers", "runtime", "asyncio", "display", "artifact", "artifacts", "tools", "save_tool",
    "LOADED_MCP_SERVERS", "discovered_servers",
}
_MOST = 64  # tools of servers that are told of one function
_MOST_COPIES = 20_000  # of nodes of a function's syntax, of which Python makes code again
_SOON, _SOON_A_CHARACTER = 0.05, 1e-5  # seconds of a processor: ten times what most source takes
_WAYS_OUT = (_ast.Return, _ast.Break, _ast.Continue)
_TEXT = 4 << 10  # characters of a docstring, of a signature


class Refused(Exception):
    """The text is not what can be kept; says why."""


def define(source, filename, variables):
    """Make the function whose source this is, in these variables: nothing but its `def` is executed."""
    function, rest = _parse(source, filename)
    if len(function) != 1 or rest:
        raise Refused("it is not one function and nothing else")
    problem = _problem(function[0])
    if problem:
        raise Refused(problem)
    exec(_compile(function[0], filename), variables)
    return variables[function[0].name]


def check(source):
    """Return the functions at the top of a module, and what else is there; executes none of it."""
    try:
        functions, rest = _parse(source, "<source>")
        return {
            "functions": [_describe(node, source) for node in functions],
            "rest": [{"line": node.lineno, "what": _what(node)} for node in rest],
        }
    except Refused as error:
        return {"problem": str(error)}


def _parse(source, filename):
    """The functions of a module, and its other statements."""
    try:
        body = compile(source, filename, "exec", _FLAGS | _ast.PyCF_ONLY_AST, True).body
    except _CANNOT as error:
        raise Refused(_syntax(error)) from None
    kinds = (_ast.FunctionDef, _ast.AsyncFunctionDef)
    return [node for node in body if isinstance(node, kinds)], [node for node in body if not isinstance(node, kinds)]


def _compile(node, filename):
    try:
        return compile(_ast.Module([node], []), filename, "exec", _FLAGS, True)
    except _CANNOT as error:
        raise Refused(_syntax(error)) from None


def _syntax(error):
    if isinstance(error, SyntaxError) and error.lineno:
        return f"line {error.lineno}: {error.msg}"
    if isinstance(error, (RecursionError, MemoryError, SystemError)):
        return "it is nested too deeply for Python"
    return f"Python cannot read it: {error}"


def _problem(node):
    """Why a function cannot be kept, or None. What a `def` evaluates must be constants."""
    name = node.name
    if not _NAME.fullmatch(name):
        return f"{name!r} is no name for a tool: it must be ASCII, begin with a letter and have at most 64 characters"
    if name in _GIVEN or name.startswith("mcp_") or hasattr(builtins, name) or name in _MODULES:
        return f"{name!r} is no name for a tool: code finds something else by it"
    if node.decorator_list:
        return f"it has a decorator (line {node.decorator_list[0].lineno}), which importing it would execute"
    if getattr(node, "type_params", None):
        return "it has type parameters"
    try:
        for parameter, default in _defaults(node.args):
            if not _is_literal(default):
                return f"the default of {parameter!r} is not a constant, so importing it would execute that"
    except RecursionError:
        return "it is nested too deeply for Python"
    return None


def _defaults(args):
    positional = [*args.posonlyargs, *args.args]
    yield from ((arg.arg, default) for arg, default in zip(reversed(positional), reversed(args.defaults)))
    yield from ((arg.arg, default) for arg, default in zip(args.kwonlyargs, args.kw_defaults) if default is not None)


def _is_literal(node):
    if isinstance(node, _ast.UnaryOp):
        return isinstance(node.op, _ast.USub) and _is_number(node.operand)
    if isinstance(node, (_ast.List, _ast.Tuple)):
        return all(map(_is_literal, node.elts))
    if isinstance(node, _ast.Set):
        return all(isinstance(item, _ast.Constant) for item in node.elts)
    if isinstance(node, _ast.Dict):
        return all(isinstance(key, _ast.Constant) for key in node.keys) and all(map(_is_literal, node.values))
    return isinstance(node, _ast.Constant)


def _is_number(node):
    return isinstance(node, _ast.Constant) and type(node.value) in (int, float, complex)


# What is said of a function. This needs modules that a guest of a later session does without.


def _describe(node, source):
    described = {"name": node.name, "line": node.lineno}
    problem = _problem(node)
    if not problem and _swells(node):
        problem = "it has finally blocks within others, of which Python makes too much code"
    try:
        code = None if problem else _compiled_soon(node, source)
        if code is not None:
            described.update(_about(node, code, source))
    except Refused as error:
        problem = str(error)
    except RecursionError:
        problem = "it is nested too deeply for Python"
    return {**described, "problem": problem} if problem else described


def _compiled_soon(node, source):
    """The function's code, which every session that uses it compiles again."""
    began = time.process_time()
    code = _compile(node, "<source>")
    if time.process_time() - began > _SOON + _SOON_A_CHARACTER * len(source):
        raise Refused("Python takes too long to compile it")
    return code


def _swells(node):
    """Whether Python would make far more code of a function than it has: it copies a finally block for each way out of
    its try, and one within it for each copy.
    """
    left, todo = _MOST_COPIES, [(node, 1)]
    while todo and left > 0:
        part, copies = todo.pop()
        left -= copies - 1
        final, copied = {id(inner) for inner in getattr(part, "finalbody", ())}, copies
        if final:
            copied = copies * (2 + sum(isinstance(inner, _WAYS_OUT) for inner in _within(part)))
        todo += [(inner, copied if id(inner) in final else copies) for inner in _children(part)]
    return left <= 0


def _within(node):
    todo = [node]
    for part in todo:
        yield part
        todo += _children(part)


def _children(node):
    for name in node._fields:
        value = getattr(node, name, None)
        for item in value if isinstance(value, list) else (value,):
            if isinstance(item, _ast.AST):
                yield item


def _about(node, code, source):
    import ast

    return {
        "source": _text(node, source),
        "async": isinstance(node, _ast.AsyncFunctionDef),
        "signature": _signature(node, ast.unparse)[:_TEXT],
        "doc": (ast.get_docstring(node) or "")[:_TEXT],
        "params": _params(node.args, ast.unparse),
        "free": sorted(_free(code) - {node.name} - _GIVEN - set(dir(builtins))),
        "uses": _uses(node),
    }


def _text(node, source):
    """The function's own lines; they alone are what is kept, so they alone must be that function."""
    lines = source.split("\n")[node.lineno - 1 : node.end_lineno]
    text = "\n".join(lines).rstrip() + "\n"
    if text != source:
        functions, rest = _parse(text, "<source>")
        if rest or len(functions) != 1 or _ast_dump(functions[0]) != _ast_dump(node):
            raise Refused("it cannot be told from the text around it")
    if not text.isascii():
        _check_names(text, node.lineno)
    return text


def _check_names(text, first):
    """Refuse names that Python reads as others than they are written as, or that hold what is not seen."""
    import io
    import tokenize
    import unicodedata

    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        name = token.string
        if name.isascii() or token.type not in (tokenize.NAME, tokenize.ERRORTOKEN):
            continue
        line, means = first + token.start[0] - 1, unicodedata.normalize("NFKC", name)
        if means != name:
            raise Refused(f"line {line}: Python reads the name {name!a} as {means!a}; write it so")
        if _UNSEEN.search(name):
            raise Refused(f"line {line}: the name {name!a} has a character that is not seen")


def _ast_dump(node):
    import ast

    return ast.dump(node)


def _signature(node, unparse):
    """The def's own line, spaced as inspect.signature has it."""
    args, defaults = node.args, dict(_defaults(node.args))

    def one(arg, stars=""):
        text = stars + arg.arg + (f": {unparse(arg.annotation)}" if arg.annotation else "")
        if arg.arg in defaults:
            text += (" = " if arg.annotation else "=") + unparse(defaults[arg.arg])
        return text

    parts = [one(arg) for arg in args.posonlyargs]
    parts += ["/"] if parts else []
    parts += [one(arg) for arg in args.args]
    if args.vararg or args.kwonlyargs:
        parts.append(one(args.vararg, "*") if args.vararg else "*")
    parts += [one(arg) for arg in args.kwonlyargs]
    parts += [one(args.kwarg, "**")] if args.kwarg else []
    returns = f" -> {unparse(node.returns)}" if node.returns else ""
    return f"{node.name}({', '.join(parts)}){returns}"


def _params(args, unparse):
    optional = {name for name, _ in _defaults(args)}
    return [
        {
            "name": arg.arg,
            "type": unparse(arg.annotation)[:200] if arg.annotation else "Any",
            "required": arg.arg not in optional,
        }
        for arg in (*args.posonlyargs, *args.args, *args.kwonlyargs)
    ]


def _free(code):
    """The global names that a function's code, and the code within it, loads and does not store itself."""
    import dis

    loads, stores = set(), set()

    def look(code):
        own = set()  # of a class's body
        for step in dis.get_instructions(code):
            if step.opname == "STORE_NAME":
                own.add(step.argval)
            elif step.opname == "STORE_GLOBAL":
                stores.add(step.argval)
            elif step.opname in ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS") and step.argval not in own:
                loads.add(step.argval)
        for constant in code.co_consts:
            if type(constant) is type(code):
                look(constant)

    look(code)
    dunders = {name for name in loads if name.startswith("__")}
    return {name for name in loads - stores - dunders if not name.startswith("mcp_")}


def _uses(node):
    """The tools of servers that a function's text names, as [server or alias, tool or alias]."""
    uses, modules, parts = {}, {}, [*_within(node)]
    for part in parts:
        if isinstance(part, _ast.Import):
            for name in part.names:
                if name.name.startswith("mcp.servers.") and name.asname:
                    modules[name.asname] = name.name[len("mcp.servers.") :]
        elif isinstance(part, _ast.ImportFrom) and part.module:
            for name in part.names:
                if part.module == "mcp.servers":
                    modules[name.asname or name.name] = name.name
                elif part.module.startswith("mcp.servers.") and name.name != "*":
                    uses[part.module[len("mcp.servers.") :], name.name] = True
    members = [part for part in parts if isinstance(part, _ast.Attribute)]
    spaces = {id(part.value) for part in members if part.attr not in ("raw", "start")}
    for part in parts:
        if isinstance(part, _ast.Attribute):
            server = _server(part.value, modules)
            if part.attr in ("resources", "prompts") and id(part) in spaces:
                continue  # mcp_x.resources.read is no tool
            if server and part.attr not in ("TOOLS", "TOOL_MAP") and not part.attr.startswith("__"):
                uses[server, part.attr] = True
        elif isinstance(part, _ast.Call) and _called(part.func) in ("call_tool", "start_tool"):
            given = [arg.value for arg in part.args[:2] if isinstance(arg, _ast.Constant)]
            if len(given) == 2 and all(type(name) is str for name in given):
                uses[tuple(given)] = True
    return [list(use) for use in uses][:_MOST]


def _server(node, modules):
    """The server that an expression is, or None."""
    if isinstance(node, _ast.Name):
        if node.id.startswith("mcp_") and node.id != "mcp_servers":
            return node.id[len("mcp_") :]
        return modules.get(node.id)
    if isinstance(node, _ast.Subscript) and isinstance(node.value, _ast.Name) and node.value.id == "mcp_servers":
        key = node.slice
        return key.value if isinstance(key, _ast.Constant) and isinstance(key.value, str) else None
    return None


def _called(function):
    return getattr(function, "attr", None) or getattr(function, "id", None)


def _what(node):
    """What a statement is, for people."""
    if isinstance(node, _ast.Expr) and isinstance(node.value, _ast.Constant) and isinstance(node.value.value, str):
        return "docstring"
    if isinstance(node, _ast.ImportFrom) and node.module == "__future__":
        return "future statement"
    names = {_ast.Import: "import", _ast.ImportFrom: "import", _ast.ClassDef: "class", _ast.Assign: "assignment"}
    return names.get(type(node), "statement")
