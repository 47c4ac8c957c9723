"""Takes, or has within bounds, what the kernel counts for the user outside: what CODEMODE_TEST_QUOTA names."""

import fcntl
import os
import select
import sqlite3
import sys
import threading
import time

channel = int(sys.argv[1].split(":")[1])
over = False


def say_over():
    global over
    if not over:
        over = True
        os.write(channel, b"over\n")


def wait_for(files, seconds=60):
    """A thread waits for files, and nobody has a descriptor of them."""
    waiter = select.poll()
    for fd in files:
        waiter.register(fd, 0)
    thread = threading.Thread(target=waiter.poll, args=(seconds * 1000,), daemon=True)
    thread.start()
    time.sleep(0.02)
    return thread


def close(files):
    for fd in files:
        os.close(fd)


def waiting_pipes():
    for count in range(40):
        files = [fd for _ in range(90) for fd in os.pipe()]
        wait_for(files)
        if count == 0:
            say_over()
        close(files)


def enter(epolls, files, numbers):
    """An entry is of a file and the number that it had."""
    for number in numbers:
        for fd in files:
            os.dup2(fd, number)
            for epoll in epolls:
                epoll.register(number, 0)
                yield
        os.close(number)


def watches():
    epolls = [select.epoll() for _ in range(40)]
    files = [os.pipe()[0] for _ in range(20)]
    for count, _ in enumerate(enter(epolls, files, range(150, 250))):
        if count == 16384:
            say_over()
    return epolls


def waiting_watches():
    """Epolls with few entries each, which only threads hold."""
    total = 0
    files = [os.pipe()[0] for _ in range(20)]
    for _ in range(40):
        epolls = [select.epoll() for _ in range(10)]
        total += sum(1 for _ in enter(epolls, files, range(200, 250)))
        wait_for([e.fileno() for e in epolls])
        for e in epolls:
            e.close()
        if total > 16384:
            say_over()


def lock(file, first, count):
    for byte in range(first, first + 2 * count, 2):
        fcntl.lockf(file, fcntl.LOCK_EX, 1, byte)


def many_locks():
    """Of files that are not closed, in several processes."""
    for _ in range(4):
        if os.fork() == 0:
            files = [open("/workspace/%d-%d" % (os.getpid(), n), "wb") for n in range(50)]
            for file in files:
                lock(file, 0, 100)
            return files
    time.sleep(0.2)
    say_over()


def read_kernel(count):
    files = [os.open("/proc/self/status", os.O_RDONLY) for _ in range(count)]
    for file in files:
        os.read(file, 1)
    return files


def kernel_files():
    """Of which each has few."""
    for _ in range(4):
        if os.fork() == 0:
            read_kernel(80)
            time.sleep(60)
    time.sleep(0.2)
    say_over()


def ordinary():
    """Event loops that come and go, threads that wait, children with pipes, and many descriptors."""
    files = [os.pipe() for _ in range(50)]
    locked = open("/workspace/locked", "wb")
    lock(locked, 0, 4000)
    base = sqlite3.connect("/workspace/base")
    base.execute("create table t (n)")
    base.execute("begin immediate")
    for read, _ in files[:20]:
        wait_for([read], 1)
    for _ in range(20):
        with select.epoll() as epoll:
            for fd in (fd for ends in files for fd in ends):
                epoll.register(fd, 0)
            epoll.poll(0.05)
    for _ in range(8):
        if os.fork() == 0:
            others = [os.open(path, os.O_RDONLY) for path in ("/proc", "/proc/self/fd/%d" % locked.fileno()) * 20]
            read_kernel(20), others
            time.sleep(0.5)
            os._exit(0)
    for _ in range(8):
        os.wait()
    os._exit(0)


held = globals()[os.environ["CODEMODE_TEST_QUOTA"]]()  # until it is ended
time.sleep(60)
