#!/usr/bin/env -S codemode exec --server filesystem
"""Writes index.md of the notes below a folder: their titles, as links.

    notes_index.py ~/notes
"""
import asyncio
import sys

folder = sys.argv[1]
found = await mcp_filesystem.search_files(path=folder, pattern="**/*.md")
names = sorted(name for name in found.splitlines() if name[0] == "/" and not name.endswith("/index.md"))
heads = await asyncio.gather(*(mcp_filesystem.read_text_file(path=name, head=1) for name in names))
lines = [f"- [{head.strip().lstrip('# ')}]({name.removeprefix(folder + '/')})" for name, head in zip(names, heads)]
await mcp_filesystem.write_file(path=f"{folder}/index.md", content="\n".join(lines) + "\n")
print(len(lines), "notes")
