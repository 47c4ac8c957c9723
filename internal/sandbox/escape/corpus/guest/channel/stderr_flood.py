# tries: to fill codemode's memory with errors
# must: killed: its pipe is full and nobody but the guest reads it
import os

while True:
    os.write(2, b"A" * 65536)
