"""Sends back every byte it gets on its channel."""

import os
import sys

if sys.argv[1] == "stdio":
    source, sink = 0, 1
else:
    source, *rest = map(int, sys.argv[1].split(":")[1:])
    sink = rest[0] if len(rest) == 3 else source
while True:
    data = os.read(source, 1 << 20)
    if not data:
        break
    while data:
        data = data[os.write(sink, data):]
