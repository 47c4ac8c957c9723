# tries: to speak MCP to codemode past its bridge
# must: killed: the session ends
send(message(id=5, method="resources/read", params={"uri": "file:///etc/passwd"}))
stay()
# %% session a
send(message(id=5, method="sampling/createMessage", params={}))
stay()
