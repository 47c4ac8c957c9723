# tries: to make the guest forget that it runs something
# must: held or killed: the host's deadline does not depend on it
guest("Interrupts")._run = None
guest("Interrupts")._guarded = False
guest("Outbox")._run = None
guest("Runner")._outbox = None
held("it ends")
