# tries: to vanish by a call of the C library
# must: killed: the run says that Python ended
import ctypes

ctypes.CDLL(None)._exit(0)
