"""Writes a tar of what is in /workspace/out to standard output: no link is followed, and nothing is waited for.

A folder stands for what is in it where that is too deep. What standard input names, with the stamp it has, is left
out. The archive's times are in nanoseconds, of the last change.
"""

try:  # to be ended where the code leaves no memory for it, and not the container's first process
    with open("/proc/self/oom_score_adj", "w") as adjustment:
        adjustment.write("1000")
except OSError:
    pass

import base64
import json
import os
import sys
import tarfile

_DEPTH = 32  # of folders, as sandbox.maxOutDepth

known = {os.fsdecode(base64.b64decode(name)): stamp for name, stamp in json.load(sys.stdin.buffer).items()}

flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
os.fchdir(os.open("/workspace/out", flags | os.O_DIRECTORY))
with tarfile.open(
    fileobj=sys.stdout.buffer, mode="w|", format=tarfile.GNU_FORMAT, encoding="utf-8", errors="surrogateescape"
) as tar:

    def too_deep(folder):
        info = tarfile.TarInfo(folder)
        info.type = tarfile.DIRTYPE
        tar.addfile(info)

    def unread(error):
        if not isinstance(error, FileNotFoundError):  # it has just been removed
            too_deep(error.filename)

    for folder, folders, names in os.walk(".", onerror=unread):
        folders.sort()
        if folder.count("/") == _DEPTH:
            for name in folders:
                too_deep(os.path.join(folder, name))
            folders.clear()
        names += [name for name in folders if os.path.islink(os.path.join(folder, name))]
        for name in sorted(names):
            path = os.path.join(folder, name)
            try:
                info = tar.gettarinfo(path)
                if info is None:
                    continue
                content = None
                if info.isreg() or info.islnk():  # a file with another name is a file
                    content = os.fdopen(os.open(path, flags), "rb")
                    now = os.fstat(content.fileno())
                    info.type, info.size, info.mtime = tarfile.REGTYPE, now.st_size, now.st_ctime_ns
                    if known.get(os.path.normpath(path)) == f"{info.mtime}-{info.size}":
                        content.close()
                        continue
            except FileNotFoundError:
                continue  # it has just been removed
            except OSError:  # it is none that can be read, or its path is too long
                info, content = tarfile.TarInfo(path), None
                info.type = tarfile.CHRTYPE
            tar.addfile(info, content)
