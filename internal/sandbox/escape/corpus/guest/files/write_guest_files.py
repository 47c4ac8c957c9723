# tries: to change codemode's own files, which later sandboxes run
# must: held: a read-only file system
from attempt import refused

refused(lambda: open("/codemode/attempt.py", "a"))
