# tries: to send bits to another session by locks on files that both can read
# must: measured: side channels are not held
import fcntl

door = open("/codemode/boot.py")
fcntl.flock(door, fcntl.LOCK_EX)
# %% session b
import fcntl

try:
    fcntl.flock(open("/codemode/boot.py"), fcntl.LOCK_EX | fcntl.LOCK_NB)
    held("files of its own")
except OSError as error:
    measured(error)
