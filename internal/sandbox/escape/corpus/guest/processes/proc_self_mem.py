# tries: to write to its own read-only memory
# must: measured: its own process only
from attempt import held, measured

try:
    open("/proc/self/mem", "r+b")
    measured("opened")
except OSError as error:
    held(error)
