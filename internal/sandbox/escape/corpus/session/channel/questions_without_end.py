# tries: to ask the user again and again, about a tool and about tools that it makes up
# must: held: after a no, and after so many questions, it is refused unasked
# %% session a of notes
allowed = 0
for n in range(100):
    for tool in "delete_note", "delete_note_%d" % n:
        allowed += ask("tools/call", server="notes", tool=tool, arguments={"n": n})[0] is None
judge(allowed, "%d calls were let through" % allowed)
