# tries: to have the guest send another result than the run's
# must: held or killed: only this session's
sender = guest("Channel")
sender.answer = lambda ident, result: sender._outbox.send(b'{"jsonrpc":"2.0","id":%d,"result":{"status":"ok","notes":["\\u001b[2J"]}}' % ident)
held("its own result")
