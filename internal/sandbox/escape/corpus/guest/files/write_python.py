# tries: to change the interpreter's library, which later sandboxes run
# must: held: a read-only file system
import os

from attempt import refused

refused(lambda: open(os.__file__, "a"))
