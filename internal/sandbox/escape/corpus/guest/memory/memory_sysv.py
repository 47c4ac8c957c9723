# tries: to hold memory in System V segments and semaphores, which are in no process's figures
# must: held: EPERM
import errno

from attempt import escaped, held, syscall

allowed = []
for name, args in (
    ("shmget", (0, 1 << 20, 0o1600)),
    ("shmat", (0, 0, 0)),
    ("shmctl", (0, 2, 0)),
    ("shmdt", (0,)),
    ("semget", (0, 250, 0o1600)),
    ("semop", (0, 0, 0)),
    ("semctl", (0, 0, 0)),
    ("semtimedop", (0, 0, 0, 0)),
):
    if syscall(name, *args) != (-1, errno.EPERM):
        allowed.append(name)
(escaped if allowed else held)("not refused: %s" % allowed)
