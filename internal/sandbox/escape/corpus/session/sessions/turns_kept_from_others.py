# tries: to leave another session without a turn, by having codemode check tools to save without end
# must: held: sessions take turns
import threading


def flood():
    while True:
        ask("tools/save", source="def f(): return 1", replace=True)


for _ in range(16):
    threading.Thread(target=flood, daemon=True).start()
stay()
# %% beside session b
began = time.monotonic()
error, _ = ask("tools/save", source="def g(): return 2", replace=True)
took = time.monotonic() - began
judge(error or took > 20, "%s after %.1f s" % (error, took))
