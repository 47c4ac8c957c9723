# tries: to break what decodes its output
# must: held: written out
os.write(1, bytes(range(128, 256)) * 4 + b"\n")
os.write(2, b"\xed\xa0\x80\xf5\x80\xc0\xaf\n")
print("\ud800\udfff")
held("written out")
