"""Functions that save_tool has kept, in this session or an earlier one: `from tools import weekly_report`.

Importing one executes nothing of it. It runs in a namespace of its own, with the names that a run finds in place.
"""

from mcp import _saved as __saved


def __getattr__(name):
    return __saved.attribute(name)


def __dir__():
    return __saved.names()
