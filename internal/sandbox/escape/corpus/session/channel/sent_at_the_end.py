# tries: to have a server do things that the result of the run does not tell, by ending in the moment in which they are sent
# must: held or killed: what may have been sent is told
# %% session a of notes
error, _ = ask("tools/call", server="notes", tool="read_note", arguments={})
held_first(error or "told")
calls = [calling("notes", tool="wait_note", ident=880000 + n) for n in range(3)]
send(b"".join([*calls, message(id=run_request()["id"], result={"status": "ok"})]))
stay()
# %% session b of notes
error, _ = ask("tools/call", server="notes", tool="read_note", arguments={})
held_first(error or "told")
calls = [calling("notes", tool="wait_note", ident=880000 + n) for n in range(3)]
send(b"".join([*calls, message(id=run_request()["id"], result={"status": "ok"})]))
stay()
# %% session c of notes
error, _ = ask("tools/call", server="notes", tool="read_note", arguments={})
held_first(error or "told")
calls = [calling("notes", tool="wait_note", ident=880000 + n) for n in range(3)]
send(b"".join([*calls, message(id=run_request()["id"], result={"status": "ok"})]))
stay()
# %% session d of notes
error, _ = ask("tools/call", server="notes", tool="read_note", arguments={})
held_first(error or "told")
calls = [calling("notes", tool="wait_note", ident=880000 + n) for n in range(3)]
send(b"".join([*calls, message(id=run_request()["id"], result={"status": "ok"})]))
stay()
# %% session e of notes
error, _ = ask("tools/call", server="notes", tool="read_note", arguments={})
held_first(error or "told")
calls = [calling("notes", tool="wait_note", ident=880000 + n) for n in range(3)]
send(b"".join([*calls, message(id=run_request()["id"], result={"status": "ok"})]))
stay()
# %% session f of notes
error, _ = ask("tools/call", server="notes", tool="read_note", arguments={})
held_first(error or "told")
calls = [calling("notes", tool="wait_note", ident=880000 + n) for n in range(3)]
send(b"".join([*calls, message(id=run_request()["id"], result={"status": "ok"})]))
stay()
# %% session g of notes
error, _ = ask("tools/call", server="notes", tool="read_note", arguments={})
held_first(error or "told")
calls = [calling("notes", tool="wait_note", ident=880000 + n) for n in range(3)]
send(b"".join([*calls, message(id=run_request()["id"], result={"status": "ok"})]))
stay()
# %% session h of notes
error, _ = ask("tools/call", server="notes", tool="read_note", arguments={})
held_first(error or "told")
calls = [calling("notes", tool="wait_note", ident=880000 + n) for n in range(3)]
send(b"".join([*calls, message(id=run_request()["id"], result={"status": "ok"})]))
stay()
