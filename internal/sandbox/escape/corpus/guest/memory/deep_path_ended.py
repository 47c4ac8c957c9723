# tries: to have the kernel keep what it says of mappings of a file in a long path, of processes that have ended
# must: held or killed: at the limit
import mmap
import os
import signal
import time

from attempt import escaped, held, host, work

NAME, DEPTH, FEW = "\n" * 255, 250, 10  # of a newline the kernel makes four characters
TEXT = len(NAME) * DEPTH * 4

os.chdir(work)
for _ in range(DEPTH):
    os.mkdir(NAME)
    os.chdir(NAME)
file = os.open("file", os.O_RDWR | os.O_CREAT)
os.ftruncate(file, mmap.PAGESIZE)


def mapped():
    """A process that has it mapped, and its pid."""
    ready, told = os.pipe()
    pid = os.fork()
    if pid == 0:
        mapping = mmap.mmap(file, mmap.PAGESIZE, prot=mmap.PROT_READ)
        os.write(told, b"x")
        time.sleep(60)
        os._exit(len(mapping))
    os.read(ready, 1)
    os.close(ready)
    os.close(told)
    return pid


def read(pid):
    """Reads as far as the path, in a few descriptors."""
    maps = [os.open("/proc/%d/maps" % pid, os.O_RDONLY) for _ in range(FEW)]
    for one in maps:
        while b"\\012\\012" not in (some := os.read(one, 1 << 16)):
            if not some:
                return False
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return True


try:
    kept = 0
    while kept < host.memory * 5 // 4:
        ready, told = os.pipe()
        if os.fork() == 0:
            os.write(told, b"x" if read(mapped()) else b"-")
            time.sleep(60)
            os._exit(0)
        if os.read(ready, 1) != b"x":
            break
        os.close(ready)
        os.close(told)
        kept += FEW * TEXT
    time.sleep(3)
    if kept < host.memory:
        held("%d bytes" % kept)
    else:
        escaped("%d bytes" % kept)
except OSError as error:
    held(error)
os._exit(0)
