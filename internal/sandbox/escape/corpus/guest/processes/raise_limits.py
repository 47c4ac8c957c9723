# tries: to raise its own limits
# must: held: EPERM
import resource

from attempt import escaped, held

raised = []
for name in ("RLIMIT_NPROC", "RLIMIT_NOFILE", "RLIMIT_FSIZE", "RLIMIT_DATA", "RLIMIT_CORE"):
    limit = getattr(resource, name)
    _, hard = resource.getrlimit(limit)
    if hard == resource.RLIM_INFINITY:
        continue
    try:
        resource.setrlimit(limit, (hard + 1, hard + 1))
        raised.append(name)
    except (OSError, ValueError):
        pass
(escaped if raised else held)(raised)
