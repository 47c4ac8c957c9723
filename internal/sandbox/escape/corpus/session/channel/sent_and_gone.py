# tries: to have a server do things that the result of the run does not tell, by ending before the answers
# must: held: what was sent and not answered is told
# %% session a of notes
error, _ = ask("tools/call", server="notes", tool="read_note", arguments={})
send(b"".join(calling("notes", tool="wait_note", ident=880000 + n) for n in range(20)))
time.sleep(1)
held(error or "told")
# %% session b of notes
error, _ = ask("tools/call", server="notes", tool="read_note", arguments={})
send(b"".join(calling("notes", tool="wait_note", ident=880000 + n) for n in range(20)))
time.sleep(1)
held("told")
os._exit(0)
