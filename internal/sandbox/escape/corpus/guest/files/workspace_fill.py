# tries: to fill /workspace
# must: held: ENOSPC at the size of the policy
from attempt import escaped, held, host, work

written = 0
try:
    for i in range(2 * host.workSize >> 20):
        with open("%s/f%d" % (work, i), "wb", 0) as file:
            written += file.write(b"x" * (1 << 20))
    escaped("%d MB" % (written >> 20))
except OSError as error:
    (held if written <= host.workSize else escaped)("%d MB, then %s" % (written >> 20, error))
