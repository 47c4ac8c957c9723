# tries: to stop reading, or writing, and go on
# must: held or killed: the run ends or is ended
import socket

held("the run has ended")
try:
    with socket.socket(fileno=os.dup(guest("Channel")._fd)) as channel:
        channel.shutdown(socket.SHUT_RD)
except OSError as error:
    held(error)
