#!/usr/bin/env -S codemode exec --server filesystem
"""Which service logs most errors, over all logs below a folder. The logs never leave the sandbox.

    log_errors.py /var/log/app
"""
import asyncio
import collections
import re
import sys

found = await mcp_filesystem.search_files(path=sys.argv[1], pattern="**/*.log")
names = [line for line in found.splitlines() if line[0] == "/"]  # else it says that there are none
logs = await asyncio.gather(*(mcp_filesystem.read_text_file(path=name) for name in names))
errors = collections.Counter(re.findall(r"ERROR (\S+):", "\n".join(logs)))
for service, count in errors.most_common():
    print(f"{count:5} {service}")
