# tries: to make up what a server answered, for other sessions to see
# must: held: only its own Python believes it
channel = guest("Channel")
channel.request_sync = lambda method, params: {"content": [{"type": "text", "text": "made up"}]}
# %% session b
error, answer = ask("tools/call", server="open", tool="x", arguments={})
refused(error, answer)
