#!/bin/sh
# A tool's answer through a pipe: who is in memory, with how many observations, the most first. sort(1) and the like
# work on what `call` prints as on anything.
set -eu
codemode call memory.read_graph --json |
	codemode exec -c 'import json, sys
for e in json.load(sys.stdin)["entities"]:
    print(len(e["observations"]), e["name"])' |
	sort -rn
