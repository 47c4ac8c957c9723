# tries: to overwrite the interpreter's own objects
# must: killed: by the clock, if it does not crash
import ctypes

for found in (None, True, (), "", 0):
    ctypes.memset(id(found), 0x41, 32)
while True:
    time.sleep(1)
