# tries: to add a key
# must: held: EPERM
from attempt import refused_call

refused_call("add_key", b"user", b"x", b"y", 1, -3)
