# tries: to become root by asking
# must: held: EINVAL or EPERM
import os

from attempt import escaped, held

answers = []
for change in (lambda: os.setuid(0), lambda: os.setgid(0), lambda: os.setresuid(0, 0, 0), lambda: os.setgroups([0])):
    try:
        change()
        answers.append("done")
    except OSError as error:
        answers.append(error.strerror)
(escaped if "done" in answers else held)(answers)
