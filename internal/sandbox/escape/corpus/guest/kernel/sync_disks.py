# tries: to have the machine write out what all others have written, which holds up whoever writes
# must: held: EPERM
import os

from attempt import escaped, held, syscall

# sync(2) tells its caller of no error, but a filter that refuses it does.
calls = [("sync", ()), ("syncfs", (os.open("/", os.O_RDONLY),)), ("syncfs", (os.open(__file__, os.O_RDONLY),))]
made = [name for name, arguments in calls if syscall(name, *arguments)[0] != -1]
(escaped if made else held)("made: %s" % made)
