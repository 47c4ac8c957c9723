# tries: to cancel what it did not ask
# must: held: there is no such request of the guest's
for ident in (*range(-5, 100), 1 << 62):
    send(message(method="cancel", params={"id": ident}))
send(message(method="cancel", params={"id": "x"}), message(method="cancel", params={}), message(method="cancel"))
held("ignored")
