# tries: to reach a server by a name that is nearly its own
# must: held: names are compared byte for byte
names = ("closed ", " closed", "CLOSED", "closed\0", "clo\u200bsed", "./closed", "closed/", "mcp_closed", "", "\u0441losed")
failed = [ask("tools/call", server=name, tool="x", arguments={})[0] for name in names]
judge(None in failed, failed)
