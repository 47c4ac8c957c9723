"""What the guest binds before user code can change it."""

import builtins as _module
import sys
from _sitebuiltins import _Helper


class _Help(_Helper):
    def __call__(self, *args, **kwargs):
        if args or kwargs:
            return super().__call__(*args, **kwargs)
        from mcp import runtime  # Python's own welcome is long, and tells of a prompt that nobody has

        print(runtime.capability_summary())


# The interpreter runs without site, which would have added these.
_module.help = _Help()
_module.exit = _module.quit = sys.exit

# A module whose globals hold this under the name __builtins__ looks its builtins up here and never
# sees what user code does to the real module.
builtins = dict(vars(_module))


def restore():
    """Undo what a run did to Python's builtins: the import system needs them, and so does the next run."""
    vars(_module).update(builtins)
