# tries: to change what the guest believes to be selected, and call
# must: held: the host decides
import mcp._state

state = guest("Namespace")._state
for holder in (guest("Namespace"), state):
    for name, value in list(vars(holder).items()):
        if "selected" in name:
            setattr(holder, name, None)
error, answer = ask("tools/call", server="closed", tool="x", arguments={})
refused(error, answer)
