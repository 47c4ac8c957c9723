"""Does the one thing that CODEMODE_TEST_DO says, and tells the host on its channel."""

import os
import sys

# Before anything is imported that opens files of its own.
given = [int(n) for n in sys.argv[1].split(":")[1:]]
inherited = []
for fd in range(max(given, default=2) + 1, 256):
    try:
        os.fstat(fd)
        inherited.append(fd)
    except OSError:
        pass

import ctypes  # noqa: E402
import json  # noqa: E402
import socket  # noqa: E402
import time  # noqa: E402

source, channel = (given[0], given[-3]) if given else (0, 1)


def tell(**answer):
    os.write(channel, json.dumps(answer).encode() + b"\n")


def allocate():
    blocks = []
    while True:
        try:
            blocks.append(bytearray(b"x") * (4 << 20))
        except MemoryError:
            time.sleep(60)  # the limit is to end it, not this program


def close_everything():
    os.closerange(0, 256)
    time.sleep(3600)


def crash():
    ctypes.string_at(0)


def leave():
    try:
        os.setsid()
    except PermissionError:  # natively
        os.setpgrp()


def daemons(marker):
    ready, started = os.pipe()
    os.set_inheritable(started, True)
    code = "import os, time; os.write(%d, b'.'); time.sleep(3600)" % started
    for _ in range(3):
        if os.fork() == 0:
            leave()
            if os.fork() == 0:
                os.execv(sys.executable, [sys.executable, "-I", "-S", "-c", code, marker])
            os._exit(0)
    for _ in range(3):
        os.wait()
        os.read(ready, 1)
    tell(ready=True)
    os.read(source, 1)  # until the host has looked


def flood():
    os.set_blocking(1, False)
    try:
        while True:
            os.write(1, b"x" * 4096)
    except BlockingIOError:
        os.read(given[-2], 4096)
    os.write(1, b"end")
    hang()


def forks():
    children = []
    try:
        while len(children) < 100:
            pid = os.fork()
            if pid == 0:
                time.sleep(3600)
            children.append(pid)
    except OSError:
        pass
    tell(forks=len(children))


def hang():
    tell(ready=True)
    while True:
        time.sleep(3600)


def fails(action, *args):
    """The name of the error, None of what worked."""
    try:
        action(*args)
    except OSError as e:
        return type(e).__name__


def leave_files(target):
    """See left.go."""
    out = os.path.join(os.getcwd(), "out")
    if target != "-":
        os.rmdir(out)
        os.symlink(target, out)
    else:
        os.makedirs(out + "/sub/" + "/".join("d" * 40))
        for name, text in ("a", "one"), ("sub/b", "two"), (b"\xff\n" * 127, "long"):
            with open(os.path.join(os.fsencode(out), os.fsencode(name)), "w") as file:
                file.write(text)
        os.link(out + "/a", out + "/c")
        os.symlink("/etc/passwd", out + "/link")
        os.symlink("..", out + "/up")
    hang()


def covered():
    """The files below data that something can be read of, folders listed or named."""
    names = ["sub/key", "sub/built, it/in"]
    for folder, _, found in os.walk("data"):
        names += [os.path.relpath(os.path.join(folder, name), "data") for name in found]
    read = []
    for name in sorted(set(names)):
        try:
            with open(os.path.join("data", name)) as file:
                if file.read():
                    read.append(name)
        except OSError:
            pass
    tell(read=read)


def packages(where):
    """Import what was added, and try to change it."""
    if not os.path.exists(where):  # in each sandbox, it may have another name
        where = os.path.join(os.path.dirname(where), os.listdir(os.path.dirname(where))[0])
    sys.path.append(where)
    import kit

    worked = []
    for how, change in (
        ("write", lambda: open(kit.__file__, "a")),
        ("add", lambda: open(os.path.join(where, "more.py"), "w")),
        ("remove", lambda: os.remove(kit.__file__)),
        ("open", lambda: os.chmod(kit.__file__, 0o777)),
    ):
        try:
            change()
        except OSError:
            continue
        worked.append(how)
    tell(answer=kit.answer, worked=worked)


def mounts():
    """See mounts.go, which has made what is here."""
    import subprocess

    folder, work = os.path.join(os.getcwd(), "data"), os.path.join(os.getcwd(), "work")

    def connect():
        socket.socket(socket.AF_UNIX, socket.SOCK_STREAM).connect(folder + "/socketunix")

    def send():
        socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).connect(folder + "/socketunixgram")

    def reconnect():
        socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)[0].connect(folder + "/socketunixgram")

    def touch(path):
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o644))

    def copy(path):
        with open(os.path.join(folder, "text"), "rb") as source, open(path, "wb") as out:
            out.write(source.read())

    with open("table.csv") as table:
        text = table.read()
    names = [os.fsencode(name).hex() for name in sorted(os.listdir(folder))]
    copy(work + "/made")
    failed = {
        "change a file": fails(open, "table.csv", "ab"),
        "change a file in a folder": fails(open, folder + "/text", "ab"),
        "truncate": fails(os.truncate, folder + "/text", 0),
        "make a file": fails(touch, folder + "/new"),
        "make a file on a mount below": fails(touch, folder + "/below/new"),
        "remove a file": fails(os.unlink, folder + "/text"),
        "change a mode": fails(os.chmod, folder + "/text", 0o777),
        "change a time": fails(os.utime, folder + "/text"),
        "rename": fails(os.rename, folder + "/text", folder + "/other"),
        "link out": fails(os.link, folder + "/text", work + "/linked"),
        "follow a link up": fails(open, folder + "/up"),
        "follow a link of the host's": fails(open, folder + "/absolute"),
        "write to a FIFO": fails(os.open, folder + "/fifo", os.O_WRONLY | os.O_NONBLOCK),
        "connect": fails(connect),
        "send": fails(send),
        "reconnect": fails(reconnect),
        "set an id": fails(os.chmod, work + "/made", 0o4755),
        "make a file that sets an id": fails(os.open, work + "/suid", os.O_WRONLY | os.O_CREAT, 0o4755),
        "execute": fails(subprocess.run, [folder + "/program"]),
    }
    tell(text=text, names=names, worked=[name for name, error in failed.items() if error is None])


def read_input():
    count = 0
    while data := os.read(0, 1 << 16):
        count += len(data)
    tell(bytes=count)


def read_own_output():
    os.write(1, b"one")
    os.write(2, b"two")
    out, err = given[-2:]
    tell(stdout=os.read(out, 100).decode(), stderr=os.read(err, 100).decode())


def say_and_crash():
    os.write(1, b"to stdout\n")
    os.write(2, b"to stderr\n")
    crash()


def shell(*words):
    import subprocess

    tell(out=subprocess.run(" ".join(words), shell=True, capture_output=True, text=True).stdout)


def sockets():
    made = []
    for family in ("AF_INET", "AF_INET6"):
        try:
            sock = socket.socket(getattr(socket, family), socket.SOCK_STREAM)
            sock.settimeout(2)
            sock.connect(("1.1.1.1" if family == "AF_INET" else "2606:4700:4700::1111", 80))
            made.append(family)
        except OSError:
            pass
    tell(made=made)


def write():
    written = []
    for path in ("/x", "/etc/x", "/usr/x", "/usr/bin/x", "/codemode/x", __file__, os.__file__, sys.executable):
        try:
            with open(path, "ab"):
                written.append(path)
        except OSError:
            pass
    tell(written=written)


name, *words = os.environ["CODEMODE_TEST_DO"].split(" ")
actions = {
    "allocate": allocate,
    "close-everything": close_everything,
    "daemons": daemons,
    "descriptors": lambda: tell(foreign=inherited),
    "environment": lambda: tell(**os.environ),
    "exit": lambda code: os._exit(int(code)),
    "flood": flood,
    "forks": forks,
    "hang": hang,
    "leave": leave_files,
    "covered": covered,
    "mounts": mounts,
    "packages": packages,
    "read-input": read_input,
    "read-own-output": read_own_output,
    "say-and-crash": say_and_crash,
    "segfault": crash,
    "shell": shell,
    "sockets": sockets,
    "write": write,
}
actions[name](*words)
