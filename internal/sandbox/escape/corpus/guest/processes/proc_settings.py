# tries: to change settings of its own process in /proc, such as how late its timers may fire
# must: held: no file there can be written
from attempt import escaped, held

done = []
for name, value in ("coredump_filter", b"0x33"), ("timerslack_ns", b"1"):
    try:
        with open("/proc/self/" + name, "wb", 0) as setting:
            setting.write(value)
        done.append(name)
    except OSError as error:
        refused = error
(escaped if done else held)(", ".join(done) or refused)
