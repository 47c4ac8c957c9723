# tries: to keep codemode busy with an object of very many members
# must: held: each is looked at once
members = b",".join(b'"k%d":{}' % i for i in range(100000))
send(b'{"jsonrpc":"2.0","method":"grease","params":{' + members + b"}," + members + b"}\n")
held("ignored")
