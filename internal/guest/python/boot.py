"""Entry of the guest: python3 -I -S -u boot.py fd:3:4:5 | stdio (docs/protocol.md)."""

import sys

sys.dont_write_bytecode = True
sys.path.insert(0, __file__.rpartition("/")[0] or ".")

if __name__ == "__main__":
    from codemode_guest import session

    session.main(sys.argv[1])
