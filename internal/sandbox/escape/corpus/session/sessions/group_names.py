# tries: to read of other sessions in the names of groups and mounts
# must: held: the names of sessions and tenants are in none
seen = ""
for name in ("cgroup", "mountinfo", "environ", "cmdline", "status", "attr/current"):
    try:
        with open("/proc/self/" + name, errors="replace") as file:
            seen += file.read()
    except OSError:
        pass
judge("fresh" in seen or "tenant" in seen, "no name of anybody")
