#!/usr/bin/env -S codemode exec
"""Calls one tool many times, side by side, with arguments from standard input, an object on each line. What fails is
told with its line, and the rest goes on.

    side_by_side.py everything get-sum <arguments.jsonl
"""
import asyncio
import json
import sys

from mcp import runtime

server, tool = sys.argv[1:]
arguments = [json.loads(line) for line in sys.stdin]
results = await asyncio.gather(*(runtime.call_tool(server, tool, a) for a in arguments), return_exceptions=True)
failed = 0
for number, result in enumerate(results, 1):
    if isinstance(result, Exception):
        failed += 1
        print(f"line {number}: {result}", file=sys.stderr)
    else:
        print(result)
sys.exit(failed > 0)
