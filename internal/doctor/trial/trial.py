"""Tries what a sandbox must refuse, and says how each attempt went: a line of JSON on the channel.

The last attempt is the one that a guest does not survive. Every line but those of attempts that are held is checked
against what the host saw.
"""

import errno
import json
import os
import socket
import sys
import time

channel = [int(n) for n in sys.argv[1].split(":")[1:]][-3]
facts = json.loads(os.environ["CODEMODE_DOCTOR"])


def say(attempt, held, detail):
    line = json.dumps({"attempt": attempt, "held": held, "detail": str(detail)[:300]})
    os.write(channel, line.encode() + b"\n")


def read_file():
    """Both ways there are to a path: the guest's own root, and that of a process it may see."""
    for root in "", "/proc/1/root":
        try:
            with open(root + facts["file"], encoding="utf-8") as file:
                file.read()
                return say("files", False, "it has read a file of this machine")
        except OSError as error:
            refused = error
    say("files", True, refused)


def write_root():
    for name in os.path.join(facts["root"], "codemode-doctor"), __file__:
        try:
            with open(name, "a", encoding="utf-8"):
                return say("root", False, "it has opened %s for writing" % name)
        except OSError as error:
            refused = error
    say("root", True, refused)


# What a connection ends in where there is no network at all. Anything else came from one.
NO_NETWORK = (
    errno.EACCES, errno.EPERM, errno.EAFNOSUPPORT, errno.EPROTONOSUPPORT, errno.ENETUNREACH, errno.ENETDOWN,
    errno.EADDRNOTAVAIL,
)


def dial_out():
    refused = "no address to try"
    for host, port in facts["addresses"]:
        loopback = host.startswith("127.")  # the sandbox may have one of its own
        try:
            socket.create_connection((host, port), 0.5).close()
        except OSError as error:
            if not loopback and error.errno not in NO_NETWORK:
                return say("network", False, "%s: %s" % (host, error))
            refused = error
        else:
            return say("network", False, "it has reached %s" % host)
    say("network", True, refused)


def fork_on():
    children = []
    try:
        while len(children) < facts["processes"]:
            pid = os.fork()
            if pid == 0:
                time.sleep(60)
                os._exit(0)
            children.append(pid)
        say("processes", False, "it has started %d processes" % len(children))
    except OSError as error:
        say("processes", True, "%d processes, then %s" % (len(children), error))
    for pid in children:
        os.kill(pid, 9)
        os.waitpid(pid, 0)


def allocate():
    say("memory", True, "begun")
    blocks, size = [], 8 << 20
    try:
        while len(blocks) * size < 2 * facts["memory"]:
            blocks.append(bytearray(b"x") * size)
    except MemoryError:
        return say("memory", True, "MemoryError at %d MB" % (len(blocks) * size >> 20))
    time.sleep(3)  # who only looks now and then must have looked by now
    say("memory", False, "it has %d MB" % (len(blocks) * size >> 20))


say("python", True, sys.version.split()[0])
read_file()
write_root()
dial_out()
if "processes" in facts:
    fork_on()
if "memory" in facts:
    allocate()
