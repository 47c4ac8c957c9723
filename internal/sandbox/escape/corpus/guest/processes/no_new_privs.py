# tries: to find itself where a program may give it privileges
# must: held: the kernel's promise that none does
import ctypes

from attempt import escaped, held

PR_GET_NO_NEW_PRIVS = 39
promised = ctypes.CDLL(None).prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0)
(held if promised == 1 else escaped)("no_new_privs is %d" % promised)
