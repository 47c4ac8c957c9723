"""What to do instead, where code runs into a wall of the sandbox: no packages, no files of the machine, no network.

Nothing here asks the host whether a path is one of the machine's: the answer would tell code what it must not see.
"""

from .early import builtins as __builtins__

import errno
import sys

_OWN = ("/workspace", "/tmp")  # what code itself has written is there

_INSTEAD = {
    "pandas": "csv, sqlite3, statistics",
    "polars": "csv, sqlite3, statistics",
    "numpy": "math, statistics, array",
    "yaml": "json, tomllib, re",
    "bs4": "html.parser, re",
    "lxml": "xml.etree, html.parser",
    "dateutil": "datetime, zoneinfo",
    "pytz": "datetime, zoneinfo",
}
_CLIENTS = ("requests", "httpx", "aiohttp", "urllib3")

_NOWHERE = (
    "the sandbox has no network; a server's tool has: `await runtime.search_tool_docs('what to fetch')` finds it"
)
_FILES = "no file of this machine is in the sandbox; "


def instead(error, script):
    """Return what to do instead of what an exception says cannot be done, or None where it is about no wall."""
    kind = type(error).__name__
    if kind == "ModuleNotFoundError":
        return _module(error)
    if isinstance(error, SyntaxError):
        return _magic(error.text)
    if not isinstance(error, OSError):
        return None
    if isinstance(error, FileNotFoundError):
        return _file(error, script)
    reason = getattr(error, "reason", None)  # of urllib's URLError
    cause = reason if isinstance(reason, OSError) else error
    if type(cause).__name__ == "gaierror" or cause.errno == errno.ENETUNREACH or _is_socket(cause):
        return _NOWHERE
    return None


def _is_socket(error):
    """The sandbox refuses the internet's sockets: no file is named then."""
    return error.errno == errno.EACCES and error.filename is None


def _module(error):
    top = (error.name or "").partition(".")[0]
    if top == "runtime" or top.startswith("mcp_"):
        return "what codemode gives needs no import: `await runtime.list_servers()`, `await mcp_SERVER.TOOL(...)`"
    if str(error) != f"No module named {error.name!r}" or top in ("", "mcp", "tools"):
        return None
    if top in getattr(sys, "stdlib_module_names", ()):  # a part of it that this Python lacks
        return None
    if top in _CLIENTS:
        return _NOWHERE
    use = f" ({_INSTEAD[top]})" if top in _INSTEAD else ""
    return (
        f"nothing can be installed here: do it with the standard library{use}, "
        "or its user gives the sandbox a Python that has it (sandbox.python, sandbox.image)"
    )


def _magic(line):
    """What a notebook would obey."""
    line = (line or "").strip()
    if line[:1] not in ("!", "%"):
        return None
    if "pip" in line.split()[0] or "install" in line.split():
        return "nothing can be installed here: do it with the standard library"
    if line[0] == "!":
        return "this is no notebook: subprocess.run([...]) runs a program of the sandbox"
    return "this is no notebook: leave the line out"


def _file(error, script):
    name = error.filename
    if isinstance(name, bytes):
        name = name.decode("utf-8", "replace")
    if not isinstance(name, str) or name.startswith(_OWN):
        return None
    if _in_subprocess(error.__traceback__):
        return f"the sandbox has no program {name!r}: do it in Python, or with a server's tool"
    if script:
        return _FILES + "give its content on standard input, or read it with a server's tool"
    return _FILES + "read it with a server's tool: `await runtime.search_tool_docs('read a file')` finds one"


def _in_subprocess(traceback):
    while traceback is not None:
        if traceback.tb_frame.f_code.co_name == "_execute_child":
            return True
        traceback = traceback.tb_next
    return False
