# tries: to number requests by what is no integer
# must: killed: the session ends
send(calling("closed", ident=1.5))
stay()
# %% session a
send(calling("closed", ident="1"))
stay()
# %% session a
send(calling("closed", ident=1 << 63))
stay()
# %% session a
send(calling("closed", ident=None))
stay()
# %% session a
send(b'{"jsonrpc":"2.0","id":[1],"method":"tools/call","params":{}}\n')
stay()
