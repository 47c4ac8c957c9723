# tries: to use the kernel's memory through access lists, which folders hand down to those in them
# must: held: refused
import os
import struct

from attempt import refused

# Version 2; the owner, many entries of one user, the group, the mask and the others.
USER = struct.pack("<HHI", 0x02, 7, os.getuid())
NOBODY = 0xFFFFFFFF
LIST = struct.pack("<I", 2) + struct.pack("<HHI", 0x01, 7, NOBODY) + USER * 100
LIST += b"".join(struct.pack("<HHI", tag, 7, NOBODY) for tag in (0x04, 0x10, 0x20))


def hand_down():
    os.mkdir("/workspace/listed")
    os.setxattr("/workspace/listed", "system.posix_acl_default", LIST)
    for n in range(10):
        os.mkdir("/workspace/listed/%d" % n)
    return os.listxattr("/workspace/listed/9")


refused(hand_down)
