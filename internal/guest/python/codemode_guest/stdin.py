"""The caller's input at descriptor 0, where that was the channel: asked for over the channel, piece by piece."""

from .early import builtins as __builtins__

import posix
from _thread import start_new_thread


def feed(channel):
    """Make descriptor 0 a pipe, and a thread that fills it. At most a pipe and one piece are read ahead."""
    read, write = posix.pipe()
    posix.dup2(read, 0)
    posix.close(read)
    ended = []
    # A child process that held the other end, too, would never see the end of its own input.
    posix.register_at_fork(after_in_child=lambda: _close(write, ended))
    start_new_thread(_fill, (channel, write, ended))


def _fill(channel, write, ended):
    from binascii import a2b_base64

    try:
        while True:
            answer = channel.request_sync("stdin", {})
            if answer.get("eof"):
                break
            data = a2b_base64(answer["base64"])
            while data:
                data = data[posix.write(write, data) :]
    except Exception:
        pass  # the host has gone, or nobody is left to read
    _close(write, ended)


def _close(write, ended):
    """Close it once: in a child of a child its number may be another file's."""
    if not ended:
        ended.append(True)
        posix.close(write)
