# tries: to learn a server's secrets from its errors: short ones, and in hex, backwards, and in base64 with a user's name
# must: held: masked in every form
# %% session a of notes
import base64

error, result = ask("tools/call", server="notes", tool="fail_note", arguments={})
told, found = ("%s %s %s" % (error, getattr(error, "data", ""), result)).lower(), []
for secret in "q7Zt", "sk-decoy-93hf7Qm2LxT4":
    encoded = base64.b64encode(b"user:" + secret.encode()).decode()
    found += [form for form in (secret, secret.encode().hex(), secret[::-1], encoded) if form.lower() in told]
judge(found or "basic" not in told, found or told)
