# tries: to ask for a key, which starts a program on the host
# must: held: EPERM
from attempt import refused_call

refused_call("request_key", b"user", b"codemode-host", 0, 0)
