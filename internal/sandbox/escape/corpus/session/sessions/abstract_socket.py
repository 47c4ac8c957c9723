# tries: to meet another session at an abstract socket
# must: held: each has a network of its own
import socket

door = socket.socket(socket.AF_UNIX)
try:
    door.bind("\0codemode-door")
    door.listen()
except OSError as error:
    held(error)
# %% session b
import socket

try:
    socket.socket(socket.AF_UNIX).connect("\0codemode-door")
    escaped("connected")
except OSError as error:
    held(error)
# %% tenant b
import socket

try:
    socket.socket(socket.AF_UNIX).connect("\0codemode-door")
    escaped("connected")
except OSError as error:
    held(error)
