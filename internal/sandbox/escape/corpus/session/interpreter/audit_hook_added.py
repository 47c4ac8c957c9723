# tries: to stop codemode's own code by an audit hook, which nobody can remove
# must: held or killed: the session is of no use to itself any more; others are
sys.addaudithook(lambda event, args: (_ for _ in ()).throw(RuntimeError(event)) if event in ("compile", "exec", "import") else None)
# %% session b
held("another session works")
