"""What to do instead, where code runs into a restriction of the sandbox: packages, files of the machine, network.

Nothing here asks the host whether a path is one of the machine's: the answer would tell code what it must not see.
"""

from .early import builtins as __builtins__

import errno
import posix
import sys

from . import frames
from .attempts import NOTHING

_OWN = ("/workspace", "/tmp")  # what can be written

_OUT = "/workspace/out/"

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
_PROJECTS = {  # where a package is not called as it is imported
    "PIL": "pillow",
    "bs4": "beautifulsoup4",
    "cv2": "opencv-python-headless",
    "dateutil": "python-dateutil",
    "skimage": "scikit-image",
    "sklearn": "scikit-learn",
    "yaml": "PyYAML",
}
_PACKAGES = "/opt/codemode/packages"  # python.PackagesDir
_MOST = 8  # names of modules that are told
_ADD = "adds what is missing (codemode packages add NAME)"
_CLIENTS = ("requests", "httpx", "aiohttp", "urllib3")
_DOWNLOADERS = ("curl", "wget")

_NO_VARIABLE = "no variable of this machine is in the sandbox: a server that needs a key has it already"
_NO_FILE = "no file of this machine is in the sandbox"
_READ_ONLY = "it was given to be read; whoever runs this can give its folder to be changed"
_LEFT_OUT = "what looks like a secret, or a .gitignore names, is left out unless it is given by itself"
_NO_NETWORK = "the sandbox has no network"
_VALUE = "a call returns the tool's value itself, already parsed (.raw(...) has the envelope)"
_ENVELOPE = ("content", "structuredContent", "structured_content", "isError", "text")


class Restrictions:
    """What an exception is judged by, besides itself. servers are those that the run may call; written is the path that
    was opened to write most recently."""

    def __init__(self, script=False, servers=(), written=None):
        self._script = script
        self._servers = servers
        self._written = written

    def instead(self, error):
        """Return what to do instead of what an exception says cannot be done; None where no restriction is meant."""
        if type(error).__name__ == "ModuleNotFoundError":
            return self._module(error)
        if isinstance(error, ImportError) and _in_runpy(error.__traceback__):
            name = str(error).rpartition(" ")[2].strip("'()")  # "... (ModuleNotFoundError: No module named 'x')"
            return None if "." in name else self._not_there(name)
        if isinstance(error, (ImportError, AttributeError)):
            return _not_in_mcp(error) or _of_result(error)
        if isinstance(error, TypeError):
            return _of_result(error)
        if isinstance(error, SyntaxError):
            return self._syntax(error.msg) or _magic(error.text)
        if isinstance(error, KeyError):
            return self._variable() if _of_environ(error.__traceback__) else _of_result(error)
        if str(error) == "unable to open database file":
            return self._writable()
        if not isinstance(error, OSError):
            return None
        if isinstance(error, FileNotFoundError) or error.errno == errno.EROFS:
            return self._file(error)
        if error.errno == errno.EACCES and isinstance(error.filename, str) and _is_given(error.filename):
            return _LEFT_OUT + (": `--file` or `--mount`" if self._script else "")
        reason = getattr(error, "reason", None)  # of urllib's URLError
        cause = reason if isinstance(reason, OSError) else error
        if type(cause).__name__ == "gaierror" or cause.errno == errno.ENETUNREACH or _is_socket(cause):
            return self._network()
        return None

    def _variable(self):
        return _NO_VARIABLE + ("; code gets one by --env NAME" if self._script else "")

    def _module(self, error):
        top = (error.name or "").partition(".")[0]
        server = top.removeprefix("mcp_")
        if server in [name.replace("-", "_") for name in self._servers]:
            call = f"await mcp_{server}.{_asked(error)}(...)"
            return f"mcp_{server} is there already: drop the import, and write `{call}`"
        if top == "runtime" or top.startswith("mcp_"):
            return "what codemode gives needs no import: `await runtime.list_servers()`, `await mcp_SERVER.TOOL(...)`"
        if str(error) != f"No module named {error.name!r}" or top in ("", "mcp", "tools"):
            return None
        return self._not_there(top)

    def _not_there(self, top):
        if top in getattr(sys, "stdlib_module_names", ()):  # since 3.10
            return "this Python is built without that part of the standard library"
        if top in _CLIENTS:
            return self._network()
        instead = f" library ({_INSTEAD[top]})," if top in _INSTEAD else " library,"
        there = _added()
        if there:
            instead += f" or with {there}, which are there,"
        project = _PROJECTS.get(top, top)
        add = f"adds it (codemode packages add {project})"
        if frames.layers and not self._script:
            add += f"; ask them: `await runtime.request_packages({project!r}, reason=...)`"
        return NOTHING.replace(" library,", instead).replace(_ADD, add)

    def _syntax(self, message):
        if message == "'await' outside async function":
            return "write `async def`, and `await` where it is called"
        if message == "'return' outside function" and not self._script:
            return "a last expression's value comes back without it"
        return None

    def _network(self):
        return _NO_NETWORK + self._tool("may have one", "fetch a page")

    def _file(self, error):
        name = error.filename
        if isinstance(name, bytes):
            name = name.decode("utf-8", "replace")
        if not isinstance(name, str):
            return None
        program = _in_subprocess(error.__traceback__)
        if self._script and not program and _lacks_out(name):
            return "--out DIR makes that folder, and saves what is left in it"
        if name.startswith(_OWN) and (program or name == str(self._written)):
            return None
        if program and name.rpartition("/")[2] in _DOWNLOADERS:
            return self._network()
        if program:
            or_tool = ", or with a server's tool" if self._servers else ""
            return f"the sandbox has no program {name!r}: do it in Python{or_tool}"
        if error.errno == errno.EROFS and _is_given(name):
            return _READ_ONLY + (": `--mount DIR:rw`" if self._script else "")
        if error.errno == errno.EROFS or name == str(self._written):
            return self._writable()
        if self._script and not self._servers:
            return f"{_NO_FILE}: give it with --file, or on standard input"
        if self._script:
            return f"{_NO_FILE}: give it with --file, or on standard input, or a server's tool may read it"
        return _NO_FILE + self._tool("may read it", "read a file")

    def _writable(self):
        lasts = "program" if self._script else "session"
        kept = self._tool("may write it", "write a file") if self._servers else ": print what is to be kept"
        if self._script:
            kept = ": --out DIR saves what is left in /workspace/out"
        return f"only /workspace and /tmp can be written, and end with the {lasts}{kept}"

    def _tool(self, may, search):
        """That a server's tool may do it: whether one does, only a search can tell."""
        if not self._servers:
            return f", and this run has no MCP server that {may}"
        return f"; a server's tool {may}: `await runtime.search_tool_docs({search!r})`"


def _asked(error):
    """The one name that a `from mcp_SERVER import NAME` asks for, or a word for it."""
    name = _line(error).partition(" import ")[2].strip()
    return name if name.isidentifier() else "TOOL"


def _absolute(name):
    return name if name.startswith("/") else posix.getcwd() + "/" + name


def _is_given(name):
    """Whether a path that is read-only or closed is of the user's: all else of /workspace can be read and written."""
    return _absolute(name).startswith(("/workspace/", "/mnt/"))


def _lacks_out(name):
    """Whether a path is in the folder that what is to be kept is left in, and there is none."""
    try:
        return _absolute(name).startswith(_OUT) and not posix.stat(_OUT)
    except OSError:
        return True


def _line(error):
    """The line of the user's that raised an exception."""
    line, traceback = "", error.__traceback__
    while traceback is not None:
        file, number = traceback.tb_frame.f_code.co_filename, traceback.tb_lineno
        lines = frames.sources.get(file, "").splitlines()
        line = lines[number - 1] if 0 < number <= len(lines) else line
        traceback = traceback.tb_next
    return line


def _not_in_mcp(error):
    """What a name was meant to be that code looks for in one of codemode's own modules."""
    if isinstance(error, ImportError):
        module, name = sys.modules.get(error.name), str(error).partition("'")[2].partition("'")[0]
    else:
        module, name = getattr(error, "obj", None), getattr(error, "name", None)  # since 3.10
    state = sys.modules.get("mcp._state")
    if state is None or name is None or type(module) is not type(sys):
        return None
    return state.instead(module.__name__, name)


def _of_result(error):
    """What a call returns, where code takes its value for the envelope or for JSON."""
    if "mcp._values" not in sys.modules:
        return None
    text = str(error)
    if isinstance(error, KeyError):
        mistaken = hasattr(error, "meant") and error.args[0] in _ENVELOPE
    elif isinstance(error, AttributeError):
        of_value = text.startswith(("'str' object", "'list' object", "no key or attribute"))
        mistaken = of_value and any(f"attribute {name!r}" in text for name in _ENVELOPE)
    elif text.startswith("string indices must be integers"):
        line = _line(error).replace('"', "'")
        mistaken = any(f"[{name!r}]" in line for name in _ENVELOPE)
    else:
        json, _, kind = text.partition(" must be str, bytes or bytearray, not ")
        mistaken = json == "the JSON object" and kind in ("AttrDict", "list")
    return _VALUE if mistaken else None


def _of_environ(traceback):
    while traceback.tb_next is not None:
        traceback = traceback.tb_next
    return traceback.tb_frame.f_locals.get("self") is sys.modules["os"].environ


def _is_socket(error):
    """The sandbox refuses the internet's sockets: no file is named then."""
    return error.errno == errno.EACCES and error.filename is None


def _magic(line):
    """What a notebook would obey."""
    line = (line or "").strip()
    if line[:1] not in ("!", "%"):
        return None
    if "pip" in line.split()[0] or "install" in line.split():
        return NOTHING
    if line[0] == "!":
        return "this is no notebook: subprocess.run([...]) runs a program of the sandbox"
    return "this is no notebook: leave the line out"


def _added():
    """The modules that the user has added, as they are imported, as far as a line has room."""
    names = set()
    for place in sys.path:
        if isinstance(place, str) and place.startswith((_PACKAGES, f"{frames.layers}/")):
            try:
                names.update(_modules(posix.scandir(place)))
            except OSError:
                pass
    names = sorted(names)
    return ", ".join(names[:_MOST]) + (f" and {len(names) - _MOST} more" if len(names) > _MOST else "")


def _modules(entries):
    """What can be imported of what a folder holds, but for what is private by its name."""
    for entry in entries:
        module, dot, kind = entry.name.partition(".")
        code = kind == "py" or kind.endswith("so") if dot else entry.is_dir()
        if code and module.isidentifier() and module[0] != "_":
            yield module


def _in_subprocess(traceback):
    return "_execute_child" in _functions(traceback)


def _in_runpy(traceback):
    return _functions(traceback)[-1:] == ["_get_module_details"]


def _functions(traceback):
    names = []
    while traceback is not None:
        names.append(traceback.tb_frame.f_code.co_name)
        traceback = traceback.tb_next
    return names
