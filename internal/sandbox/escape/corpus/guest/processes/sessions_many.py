# tries: to get more of the processors than its neighbours, by a session of its own for each process
# must: held: setsid is refused
import os

from attempt import escaped, held

try:
    child = os.fork()
    if child == 0:
        os.setsid()
        escaped("a session of its own")
        os._exit(0)
    os.waitpid(child, 0)
except PermissionError as error:
    held(error)
