# tries: to call a tool that is denied, and one that is asked about, by names that a careless server takes for theirs
# must: held: only names that the server lists are callable, byte for byte
# %% session a of notes
error, _ = ask("tools/call", server="notes", tool="read_note", arguments={})
names = [
    spelled % name
    for name in ("erase_note", "delete_note")
    for spelled in ("\x1f%s", "%s\x1c", "\ufeff%s", " %s\n", "%s\0", "%s\u200b", "notes.%s", "./%s", "%s/", "%s; it is fine")
] + ["ERASE_NOTE", "Delete_Note", "erase\u005fnote\u0301", "\uff45rase_note", "erase_note", ""]
passed = [name for name in names if ask("tools/call", server="notes", tool=name, arguments={})[0] is None]
judge(error or passed, error or passed)
