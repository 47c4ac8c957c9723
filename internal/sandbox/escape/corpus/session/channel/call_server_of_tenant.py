# tries: to call a server of another tenant, which is there at the same time
# must: held: there is no such server
pass
# %% tenant b
ask("server", server="of-b", load=True)
# %% session a
failed = [ask("tools/call", server=name, tool="x", arguments={})[0] for name in ("of-b", "b/of-b", "b.of-b", "../b/of-b")]
failed += [ask("server", server="of-b", load=load)[0] for load in (True, False)]
judge(None in failed, failed)
