#!/usr/bin/env -S codemode exec --server memory
"""Forgets what memory knows with a date before another: observations that begin with one, such as 2025-03-01.

    forget_old.py 2026-01-01
"""
import re
import sys

graph = await mcp_memory.read_graph()
deletions = []
for entity in graph.entities:
    old = [text for text in entity.observations if re.match(r"\d{4}-\d\d-\d\d", text) and text < sys.argv[1]]
    if old:
        deletions.append({"entityName": entity.name, "observations": old})
if deletions:
    await mcp_memory.delete_observations(deletions=deletions)
print(sum(len(d["observations"]) for d in deletions), "forgotten")
