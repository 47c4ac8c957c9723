# tries: to send text that is no UTF-8 inside a message that is one
# must: held or killed: never passed on as it is
run = run_request()["params"]["run"]
held("replaced")
send(b'{"jsonrpc": "2.0", "method": "output", "params": {"run": %d, "stream": "stdout", "text": "\xff\xfe\xc3 \xed\xa0\x80\n"}}\n' % run)
