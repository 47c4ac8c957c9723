# tries: to crash the interpreter
# must: killed: the run names the signal
import ctypes

ctypes.string_at(0)
