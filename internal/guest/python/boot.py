"""Entry of the guest: python3 -I -S -u boot.py fd:3:4:5 | stdio (docs/protocol.md)."""

import sys

sys.dont_write_bytecode = True
HERE = __file__.rpartition("/")[0] or "."
sys.path.insert(0, HERE)

if __name__ == "__main__":
    import marshal
    from _frozen_importlib_external import MAGIC_NUMBER

    try:
        with open(f"{HERE}/__pycache__/start.{MAGIC_NUMBER.hex()}", "rb", 0) as file:
            start, codes = marshal.loads(file.read())
    except (OSError, EOFError, TypeError, ValueError):
        pass  # there is none, as in a container, or it is damaged: Python finds the modules by itself
    else:
        exec(start, names := {})
        names["load"](HERE, codes)
    from codemode_guest import session

    session.main(sys.argv[1])
