# tries: to find in its memory what another session holds
# must: held: none of it is there
hidden = "-".join(["secret", "of", "session", "a"]) * 4
# %% session b
# Looked for backwards, so that it is in this memory only if it has come from elsewhere.
needle = "-".join(["secret", "of", "session", "a"])[::-1].encode()
found = 0
with open("/proc/self/mem", "rb", 0) as memory, open("/proc/self/maps") as maps:
    for line in maps:
        span, mode = line.split()[:2]
        begin, end = (int(n, 16) for n in span.split("-"))
        if mode[0] != "r" or end - begin > 64 << 20:
            continue
        try:
            memory.seek(begin)
            found += memory.read(end - begin)[::-1].count(needle)
        except (OSError, ValueError, OverflowError):
            continue
judge(found, "%d times" % found)
