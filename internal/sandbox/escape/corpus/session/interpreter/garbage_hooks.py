# tries: to be called whenever Python collects garbage
# must: held: only its own
gc.callbacks.append(lambda phase, info: (_ for _ in ()).throw(SystemExit("poisoned")))
gc.collect()
gc.disable()
gc.freeze()
# %% session b
judge(not gc.isenabled(), "it is on")
