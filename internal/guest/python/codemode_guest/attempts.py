"""What code has tried that neither an exception nor another program's own advice says: what it has opened to write, and that
it has started a program to install something. An audit hook sees both, whichever library does it."""

from .early import builtins as __builtins__

import sys

_INSTALLERS = ("pip", "uv", "pipx", "conda", "mamba", "poetry", "apt", "apt-get", "npm", "ensurepip")
_VERBS = ("install", "add", "ensurepip")

NOTHING = (
    "nothing can be installed here: do it with the standard library, "
    "or the user adds what is missing (codemode packages add NAME)"
)


class Attempts:
    def __init__(self):
        self.written = None  # the path that was opened to write most recently
        self._installed = False
        sys.addaudithook(self._see)

    def end_run(self):
        """A note where the run has started an installer: what that prints is about other machines."""
        tried, self._installed, self.written = self._installed, False, None
        return [NOTHING] if tried else []

    def _see(self, event, args):
        if event == "open":
            if isinstance(args[1], str) and args[1][:1] in "wax":
                self.written = args[0]
        elif event == "subprocess.Popen":
            self._installed = self._installed or installs(args[1])
        elif event == "os.system":
            self._installed = self._installed or installs(args[0])


def installs(command):
    """Whether a command, as a list or as a text, is one that installs something."""
    if isinstance(command, bytes):
        command = command.decode("utf-8", "replace")
    if not isinstance(command, str):
        command = " ".join(word if isinstance(word, str) else "" for word in command)
    words = command.split()
    programs = [word.rpartition("/")[2].rstrip("0123456789.") for word in words]
    return any(program in _INSTALLERS for program in programs) and any(verb in words for verb in _VERBS)
