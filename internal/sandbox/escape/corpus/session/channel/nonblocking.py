# tries: to take the patience from codemode's own descriptor
# must: held or killed: it is the guest's end alone
held("the run has ended")
os.set_blocking(guest("Outbox")._fd, False)
for _ in range(64):
    print("z" * 65536)
