# tries: to keep codemode busy with numbers of very many digits
# must: held or killed: nothing reads them as numbers
held("ignored")
for digits in (b"1" * 4000000, b"1e" + b"9" * 400000, b"-" + b"0" * 10, b"1." + b"0" * 4000000):
    send(b'{"jsonrpc": "2.0", "method": "output", "params": {"run": ' + digits + b', "stream": "stdout", "text": ""}}\n')
