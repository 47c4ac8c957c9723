# tries: to drown codemode in calls
# must: held: refused one by one; the session lives on
for start in range(0, 20000, 500):
    send(b"".join(calling("closed", ident=1000000 + start + i) for i in range(500)))
error, _ = ask("tools/call", server="closed", tool="x", arguments={})
refused(error)
