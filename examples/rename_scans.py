#!/usr/bin/env -S codemode exec --server filesystem
"""Renames scan-*.txt in a folder by the date in their first line. Without --yes it only says what it would do.

    rename_scans.py ~/scans --yes
"""
import re
import sys

folder, really = sys.argv[1], "--yes" in sys.argv
found = await mcp_filesystem.search_files(path=folder, pattern="scan-*.txt")
for name in sorted(line for line in found.splitlines() if line[0] == "/"):  # else it says that there are none
    first = await mcp_filesystem.read_text_file(path=name, head=1)
    date = re.search(r"(\d{2})\.(\d{2})\.(\d{4})", first)
    if not date:
        print(f"{name}: no date in its first line", file=sys.stderr)
        continue
    new = f"{folder}/{date[3]}-{date[2]}-{date[1]}.txt"
    print(name, "->", new)
    if really:
        await mcp_filesystem.move_file(source=name, destination=new)
