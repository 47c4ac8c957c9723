"""Does what CODEMODE_TEST_CROWD names once the host says so: attacks on a limit of memory, or work that keeps to it."""

import mmap
import os
import signal
import sys
import time

given = [int(n) for n in sys.argv[1].split(":")[1:]]
channel = given[0]
limit = int(os.environ["CODEMODE_TEST_LIMIT"])


def fork(child, *args):
    try:
        if os.fork() == 0:
            try:
                child(*args)
            finally:
                os._exit(1)
    except OSError:
        pass  # no more processes


def spin():
    while True:
        pass


def allocate(size=8 << 20):
    blocks = []
    while True:
        try:
            blocks.append(bytearray(b"x") * size)
        except MemoryError:
            time.sleep(1)


def sharing(children, idle, greedy):
    """Many processes share much, which takes long to count, while some take more."""
    shared = bytearray(b"x") * (limit * 6 // 10)
    for _ in range(children):
        fork(idle)
    for _ in range(greedy):
        fork(allocate)
    time.sleep(60)
    return shared


def unshare(shared):
    for offset in range(0, len(shared), 4096):
        shared[offset] = 1
    spin()


def unsharing():
    """What many processes share becomes each one's own."""
    shared = bytearray(b"x") * (limit * 6 // 10)
    for _ in range(60):
        fork(unshare, shared)
    time.sleep(60)


def resume():
    """A process that a clock of its own wakes when it is stopped, and that goes on taking."""
    import ctypes

    libc = ctypes.CDLL(None)
    event = (ctypes.c_int * 16)()
    event[2], event[3] = signal.SIGCONT, 0  # sigev_signo; SIGEV_SIGNAL
    timer = ctypes.c_void_p()
    libc.timer_create(1, event, ctypes.byref(timer))
    libc.timer_settime(timer, 0, (ctypes.c_long * 4)(0, 1_000_000, 0, 1_000_000), None)
    allocate()


def resuming():
    signal.signal(signal.SIGCONT, lambda *_: None)
    shared = bytearray(b"x") * (limit * 6 // 10)
    for _ in range(60):
        fork(signal.pause)
    for _ in range(20):
        fork(resume)
    time.sleep(60)
    return shared


def populating():
    """The kernel is asked for much at once, in which no signal interrupts it."""
    maps = []
    for _ in range(8):
        fork(lambda: (maps.append(mmap.mmap(-1, limit * 3 // 2, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x8000)), time.sleep(60)))
    time.sleep(60)


def reading():
    """Many read what takes no memory, a file of holes, into memory of their own, each in one system call: that ends for
    no signal."""
    file = os.open(os.environ["TMPDIR"] + "/holes", os.O_RDWR | os.O_CREAT)
    size = limit // 3
    os.ftruncate(file, size)
    ready, go = os.pipe()

    def read():
        block = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        os.read(ready, 1)
        os.preadv(file, [block], 0)
        time.sleep(60)

    for _ in range(16):
        fork(read)
    time.sleep(0.5)
    os.write(go, bytes(16))
    time.sleep(60)


def mapping():
    """Mappings without a page, in many processes."""
    import ctypes

    libc = ctypes.CDLL(None)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
    libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    pages, size = 60_000, mmap.PAGESIZE
    start = libc.mmap(None, pages * size, 0, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0)
    for page in range(0, pages, 2):
        libc.mprotect(start + page * size, size, mmap.PROT_READ)
    for _ in range(100):
        fork(signal.pause)
    time.sleep(60)


def ancestors():
    """Mappings that are linked to hundreds of processes that have ended, in a few that live."""
    import ctypes

    libc = ctypes.CDLL(None)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
    libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    generations, split, size = 400, 9000, mmap.PAGESIZE
    rest = 2 * split + 2
    start = libc.mmap(None, (rest + generations + 2) * size, 3, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0)
    ctypes.memset(start, 1, 1)
    if os.fork():
        while True:
            os.waitpid(-1, 0)
    for n in range(generations):
        # Two mappings share what the next generation is linked to, which the kernel then does not use again.
        libc.mprotect(start + (rest + generations - n) * size, size, 1 if n & 1 else 0)
        if os.fork():
            os._exit(0)
    for _ in range(3):
        if os.fork() == 0:
            break
    for n in range(split - 1, -1, -1):
        libc.mprotect(start + (2 * n + 1) * size, size, mmap.PROT_READ)
    time.sleep(60)


def forking(share, program=None):
    """Page tables for pages of zeros, one in 2 MB, of which four processes have that share of the limit, and fork
    without end: what is copied is in no list before it is whole, nor after its process has ended."""
    import ctypes

    libc = ctypes.CDLL(None)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
    libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    stride, count = 2 << 20, int(limit * share) // 4 // 4096

    def copy():
        start = libc.mmap(None, count * stride, mmap.PROT_READ, 0x4022, -1, 0)  # private, anonymous, not reserved
        libc.mprotect(start, 4096, mmap.PROT_READ | mmap.PROT_WRITE)
        ctypes.memset(start, 1, 1)  # only what has had a page of its own is copied
        libc.mprotect(start, 4096, mmap.PROT_READ)
        for n in range(1, count):
            ctypes.string_at(start + n * stride, 1)
        while True:
            child = os.fork()
            if child == 0 and program:
                os.execv(program, [program])
            if child == 0:
                os._exit(0)
            os.waitpid(child, 0)

    for _ in range(4):
        fork(copy)
    time.sleep(60)


def locked():
    """Some have their address space locked nearly always, since the kernel protects all of its pages otherwise, while
    others take memory."""
    import ctypes

    libc = ctypes.CDLL(None)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
    libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    libc.memchr.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t]
    size = 2 << 30
    ready, tell = os.pipe()

    def lock():
        start = libc.mmap(None, size, mmap.PROT_READ, 0x4022, -1, 0)  # private, anonymous, not reserved
        libc.memchr(start, 1, size)  # each page is one of zeros then
        os.write(tell, b"x")
        while True:
            libc.mprotect(start, size, 0)
            libc.mprotect(start, size, mmap.PROT_READ)

    for _ in range(4):
        fork(lock)
    for _ in range(4):
        os.read(ready, 1)
    for _ in range(20):
        fork(allocate)
    time.sleep(60)


def square(n):
    block = bytearray(b"x") * (1 << 20)
    return n * n + len(block) * 0


def pool():
    import multiprocessing

    shared = bytearray(b"x") * (limit // 2)
    with multiprocessing.get_context("fork").Pool(4) as workers:
        assert workers.map(square, range(2000)) == [n * n for n in range(2000)]
    assert len(shared) == limit // 2


def commands():
    import subprocess

    shared = bytearray(b"x") * (limit * 6 // 10)
    for _ in range(5):
        running = [subprocess.Popen(["/bin/sh", "-c", "exec sleep 0.05"]) for _ in range(20)]
        assert [p.wait() for p in running] == [0] * 20
    assert len(shared) > 0


def server():
    shared = bytearray(b"x") * (limit * 6 // 10)
    for _ in range(500):
        child = os.fork()
        if child == 0:
            os._exit(shared[0] - ord("x"))
        assert os.waitpid(child, 0)[1] == 0


def alone():
    block = bytearray(b"x") * (limit * 85 // 100)
    time.sleep(0.5)
    assert len(block) > 0


attacks = {
    "idle": lambda: sharing(60, signal.pause, 20),
    "spinning": lambda: sharing(60, spin, 20),
    "crowded": lambda: sharing(100, spin, 20),
    "greedy": lambda: sharing(0, None, 100),
    "unsharing": unsharing,
    "resuming": resuming,
    "populating": populating,
    "mapping": mapping,
    "reading": reading,
    "ancestors": ancestors,
    "forking": lambda: forking(0.85),
    "halves": lambda: forking(0.45),
    "executing": lambda: forking(0.85, "/bin/true"),
    "locked": locked,
    "pool": pool,
    "server": server,
    "commands": commands,
    "alone": alone,
    "thread": lambda: allocate(),
}

os.write(channel, b"ready\n")
os.read(channel, 1)
attacks[os.environ["CODEMODE_TEST_CROWD"]]()
os.write(channel, b"done\n")
