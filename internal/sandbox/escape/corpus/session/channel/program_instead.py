# tries: to replace Python by a program that speaks the protocol
# must: killed: it has what the code had: the channel of its own session
ident, fd = run_request()["id"], guest("Outbox")._fd
os.set_inheritable(fd, True)
code = "import os; os.write(%d, %r)" % (fd, message(id=99, method="host/exec", params={}))
os.execv(sys.executable, [sys.executable, "-I", "-S", "-c", code])
