"""What the guest binds before user code can change it."""

import builtins as _module
import sys


class _Help:
    """What site's help is, which is one more module to import."""

    def __repr__(self):
        return "Type help() for what codemode has, or help(object) for help about object."

    def __call__(self, *args, **kwargs):
        if args or kwargs:
            import pydoc

            return pydoc.help(*args, **kwargs)
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
