# tries: to have two requests under one number
# must: held or killed: the session ends, unless the first was answered already
line = calling("closed", ident=80000)
send(line * 500)
error, _ = ask("tools/call", server="closed", tool="x", arguments={})
refused(error)
