# tries: to end by a signal of its own
# must: killed: the run names the signal
import ctypes

ctypes.CDLL(None).abort()
