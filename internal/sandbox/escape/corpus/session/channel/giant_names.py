# tries: to fill errors by the names of servers and tools
# must: held: refused by their length
name = "x" * (2 << 20)
failed = [ask("tools/call", server=name, tool="x", arguments={})[0]]
failed.append(ask("tools/call", server="open", tool=name, arguments={})[0])
failed.append(ask("server", server=name, load=True)[0])
failed.append(ask("search", query=name, limit=5)[0])
judge(None in failed, failed)
