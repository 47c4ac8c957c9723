"""Run pip as a resolver: argv has pip's folder, and one with files of its arguments and of the addresses that
requirements may name.

Nothing but pip is executed. What would have to be built is refused before anything of it runs, and so is what a package
needs by an address of its own: neither an index nor the cooldown stands behind that. An index that cannot be asked is an
error, and not one that has nothing. It is given to python -c.
"""

import runpy
import sys

_PROGRAMS = ("os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn", "os.system", "subprocess.Popen")


def _forbid(event, _):
    if event in _PROGRAMS:
        raise PermissionError(f"pip starts no program here ({event})")


def _take_by_name(allowed):
    """Have pip 26.1 refuse requirements by address; every requirement becomes what it looks for in one method."""
    from pip._internal.exceptions import InstallationError
    from pip._internal.resolution.resolvelib.factory import Factory

    make = Factory._make_requirements_from_install_req

    def checked(self, ireq, requested_extras):
        link = ireq.link
        if link is not None and link.url_without_fragment not in allowed and ireq.match_markers(requested_extras):
            by = f", which {ireq.comes_from} needs," if ireq.comes_from else ""
            raise InstallationError(
                f"{ireq.name or 'a package'}{by} is named by its address, and packages are taken by name from an index"
            )
        return make(self, ireq, requested_extras)

    Factory._make_requirements_from_install_req = checked


def _ask_the_index():
    """Have pip 26.1 end where the index gives no answer; without it, it would choose from what is left."""
    from pip._internal.exceptions import InstallationError
    from pip._internal.index import collector

    def fail(link, reason, meth=None):
        response = getattr(reason, "response", None)
        if response is None or response.status_code != 404:
            raise InstallationError(f"the index cannot be asked for {link.filename}: {reason}")

    collector._handle_get_simple_fail = fail


def _read(name):
    with open(name, encoding="utf-8", errors="surrogateescape", newline="\n") as file:
        return file.read()[:-1]  # it ends with a line's end


def main():
    folder, told = sys.argv[1:]
    sys.path.insert(0, folder)
    sys.argv = ["pip"] + _read(told + "/arguments").split("\0")
    _take_by_name(frozenset(_read(told + "/addresses").split("\n")))
    _ask_the_index()
    sys.addaudithook(_forbid)
    runpy.run_module("pip", run_name="__main__", alter_sys=True)


main()
