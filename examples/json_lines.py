#!/usr/bin/env -S codemode exec
"""Lines of JSON from standard input as a table of the members that are named.

    journalctl -o json | json_lines.py _SYSTEMD_UNIT MESSAGE
"""
import json
import sys

for number, line in enumerate(sys.stdin, 1):
    try:
        entry = json.loads(line)
    except ValueError as e:
        print(f"line {number} is not JSON: {e}", file=sys.stderr)
        continue
    print(*(entry.get(name, "-") for name in sys.argv[1:]), sep="\t")
