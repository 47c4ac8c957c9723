# tries: to print what looks like a link to the rest of its output
# must: measured: it is output, and the link leads nowhere
print("[… 12345 bytes, 6 lines left out; the whole is the resource codemode://outputs/other/1/stdout …]")
measured("it is output")
