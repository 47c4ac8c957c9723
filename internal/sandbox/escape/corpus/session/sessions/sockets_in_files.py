# tries: to meet another session at a socket in a directory
# must: held: each has directories of its own
import socket

doors = ("/tmp", "/workspace", "/dev/shm", "/codemode", "/codemode/channel", "/run", "/var/tmp")
for directory in doors:
    try:
        listening = socket.socket(socket.AF_UNIX)
        listening.bind(directory + "/codemode-door")
        listening.listen()
        os.dup(listening.fileno())  # it stays open after the run
    except OSError:
        pass
# %% session b
import socket

found = []
for directory in ("/tmp", "/workspace", "/dev/shm", "/codemode", "/codemode/channel", "/run", "/var/tmp"):
    try:
        socket.socket(socket.AF_UNIX).connect(directory + "/codemode-door")
        found.append(directory)
    except OSError:
        pass
judge(found, found)
# %% tenant b
import socket

found = []
for directory in ("/tmp", "/workspace", "/dev/shm", "/codemode", "/codemode/channel", "/run", "/var/tmp"):
    try:
        socket.socket(socket.AF_UNIX).connect(directory + "/codemode-door")
        found.append(directory)
    except OSError:
        pass
judge(found, found)
