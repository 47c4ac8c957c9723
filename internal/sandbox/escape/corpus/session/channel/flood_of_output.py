# tries: to fill codemode's memory with what one run prints
# must: held: head and tail are kept, the middle in a file of bounded size
line = b"y" * 65535 + b"\n"
for _ in range(320):
    os.write(1, line)
held("20 MB")
