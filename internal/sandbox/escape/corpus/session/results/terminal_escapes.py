# tries: to act on the terminal that shows its output
# must: held: control characters are written out
for text in ("\x1b[2J\x1b[H", "\x1b]0;title\x07", "\x1b]52;c;cm0gLXJm\x07", "\x1bP+q\x1b\\", "\x9b31m", "a\rb", "\b\b\b", "\x7f", "\x00"):
    print(text)
    print(text, file=sys.stderr)
held("written out")
"\x1b[31m"
