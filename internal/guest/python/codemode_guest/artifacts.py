"""artifact() and artifacts: files that are kept when the session has ended."""

from .early import builtins as __builtins__

import os
from binascii import a2b_base64

from .leftovers import OUT

_CACHE = os.environ.get("TMPDIR", "/tmp") + "/artifacts"


def make(channel):
    """The names that a run's code finds: the function, and what was kept."""
    return {"artifact": artifact, "artifacts": Artifacts(channel)}


def artifact(path_or_bytes, name=None):
    """Leave a file, or bytes, in /workspace/out, whose files are kept when the run ends; return its path there.

    name is what it is called there, in folders too: "plots/sales.svg". A file has its own without it.
    """
    if not os.path.isdir(OUT):
        raise RuntimeError("nobody keeps what this program leaves: codemode exec --out DIR does")
    if isinstance(path_or_bytes, (str, os.PathLike)):
        source = os.path.realpath(path_or_bytes)
        if not os.path.isfile(source):
            raise FileNotFoundError(f"artifact: {os.fspath(path_or_bytes)!r} is no file")
        to = _place(name or os.path.basename(os.fspath(path_or_bytes)))
        if to != source:
            _link(source, to)
        return to
    if not isinstance(path_or_bytes, (bytes, bytearray, memoryview)):
        kind = type(path_or_bytes).__name__
        raise TypeError(f"artifact takes the path of a file, or bytes, not {kind}: write it to a file, or encode it")
    if not name:
        raise TypeError("artifact needs a name for bytes: artifact(data, name='report.txt')")
    to = _place(name)
    _clear(to)
    with open(to, "xb") as file:
        try:
            file.write(path_or_bytes)
            file.flush()
        except OSError:
            os.unlink(to)  # half of it is not to be kept
            raise
    return to


def _place(name):
    name = os.fspath(name)
    to = os.path.normpath(os.path.join(OUT, name))
    if not to.startswith(OUT + "/") or to == OUT:
        raise ValueError(f"artifact: the name {name!r} leads out of {OUT}")
    os.makedirs(os.path.dirname(to), exist_ok=True)
    return to


def _link(source, to):
    """Give a file its second name, or copy it from where that cannot be."""
    _clear(to)
    try:
        os.link(source, to)
    except OSError:
        import shutil

        shutil.copyfile(source, to)


def _clear(to):
    try:
        os.remove(to)
    except FileNotFoundError:
        pass


class Artifacts:
    """The files that were kept, of this session and of earlier ones, by their ids."""

    def __init__(self, channel):
        self._channel = channel

    def __repr__(self):
        return "<artifacts: .list(), .open(id), .path(id), .for_tool(id)>"

    def list(self):
        """A dict of each: id, name, type, size, sha256, made, run; the newest first."""
        return self._ask({"id": ""})["artifacts"]

    def path(self, id):
        """The path of a copy of one, in /tmp."""
        id = str(id).rpartition("/")[2]  # its address will do
        folder = f"{_CACHE}/{id}"
        if os.path.isdir(folder):
            return os.path.join(folder, os.listdir(folder)[0])
        return self._fetch(id, folder)

    def open(self, id, mode="r", **how):
        """Open one to be read: artifacts.open(id), artifacts.open(id, "rb")."""
        if "r" not in mode or "+" in mode:
            raise ValueError("an artifact is read; to make another: artifact(path_or_bytes, name=...)")
        return open(self.path(id), mode, **how)

    def for_tool(self, id):
        """What to give, as the whole of an argument, to a tool of a server on this machine that takes a path: it gets the
        path of the artifact there, and code does not."""
        return self._ask({"id": str(id).rpartition("/")[2], "forTool": True})["reference"]

    def _fetch(self, id, folder):
        aside = f"{folder}.new-{os.getpid()}"
        offset, size, name = 0, 1, "artifact"
        os.makedirs(aside, exist_ok=True)
        try:
            with open(f"{aside}/content", "wb") as file:
                while offset < size:
                    answer = self._ask({"id": id, "offset": offset})
                    described, piece = answer["artifacts"][0], a2b_base64(answer.get("base64") or "")
                    size, name = described["size"], os.path.basename(described["name"])
                    file.write(piece)
                    offset += len(piece)
                    if not piece:
                        break
            os.rename(f"{aside}/content", f"{aside}/{name}")
            os.rename(aside, folder)
        except BaseException:
            import shutil

            shutil.rmtree(aside, ignore_errors=True)
            raise
        return f"{folder}/{name}"

    def _ask(self, params):
        try:
            return self._channel.request_sync("artifacts", params)
        except Exception as error:
            from mcp._errors import from_remote

            raise from_remote(error) or error from None
