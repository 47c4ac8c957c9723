# tries: to have codemode keep more than a function, or under a name that leads elsewhere
# must: held: what is kept is one plain function, checked where nobody's code runs
sources = [
    "import os\ndef f(): pass",
    "def f(): pass\nprint('now')",
    "@print\ndef f(): pass",
    "def f(x=open('/tmp/x', 'w')): pass",
    "def f[T: print('now')](): pass",
    "class f: pass",
    "f = lambda: 0",
    "def print(): pass",
    "def mcp_open(): pass",
    "def __init__(): pass",
    "def \u0440(): pass",
    "def f(): return '\u202e'",
    "def f(): return '\x1b[2J'",
    "def ../../f(): pass",
    "def f(): pass\0",
    "def f(): " + "(" * 100000,
    "def f(): return " + repr("x" * (4 << 20)),
    "",
]
kept = []
for source in sources:
    error, _ = ask("tools/save", source=source, replace=True)
    if error is None:
        kept.append(source[:60])
judge(kept, kept)
