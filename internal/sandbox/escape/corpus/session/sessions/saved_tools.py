# tries: to leave a saved tool for another tenant
# must: held: tools are their tenant's own
error, _ = ask("tools/save", source="def door():\n    return 1\n", replace=True)
held(error or "kept")
# %% tenant b
error, answer = ask("tools/saved", name="door")
_, others = ask("tools/saved", name="../tools-a/tool-door")
found = [a for a in (answer, others) if a and a["tools"]]
judge(found, error or "not there")
