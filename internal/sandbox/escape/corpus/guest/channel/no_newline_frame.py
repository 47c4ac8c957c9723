# tries: to send codemode a line without an end
# must: held: the host decides how much of it to read
import os

from attempt import channel, held

for _ in range(512):
    os.write(channel, b"{" * 65536)
os.write(channel, b"\n")
held("32 MB in a line")
