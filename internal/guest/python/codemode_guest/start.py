"""What a start imports, in one file: some 20 modules that need not be found, opened and read one by one.

The interpreter that starts from it has written it into the cache (sandbox/python/trees.go). It has the code of this
module, too, which boot.py executes before any other; where there is no such file, modules are imported as any are.
"""

import sys
from _frozen_importlib import module_from_spec
from _frozen_importlib_external import MAGIC_NUMBER, SourceFileLoader, spec_from_file_location
from _imp import _fix_co_filename


def load(here, codes):
    """Make modules of codes, {name: code} in the order of keep, as Python's own import would have."""
    for name, code in codes.items():
        path = here + code.co_filename
        package, _, last = name.rpartition(".")
        folders = None if package else [path.rpartition("/")[0]]
        loader = SourceFileLoader(name, path)
        spec = spec_from_file_location(name, path, loader=loader, submodule_search_locations=folders)
        module = sys.modules[name] = module_from_spec(spec)
        _fix_co_filename(code, path)
        exec(code, vars(module))
        if package:
            setattr(sys.modules[package], last, module)


def keep(here):
    """Write the file beside what is byte-compiled of the tree here."""
    import marshal

    from . import session

    codes = {}
    for name, module in list(sys.modules.items()):  # in the order in which their imports have ended
        if name.partition(".")[0] == __package__:
            codes[name] = code = module.__loader__.get_code(name)
            _fix_co_filename(code, module.__file__[len(here) :])
    start = codes.pop(__name__)
    with open(f"{here}/__pycache__/start.{MAGIC_NUMBER.hex()}", "wb") as file:
        file.write(marshal.dumps((start, codes)))
