# tries: to send bits to another session by which files of Python are in the page cache
# must: measured: side channels are not held
import ctypes

libc = ctypes.CDLL(None, use_errno=True)
here = os.path.dirname(os.__file__)
zero, one = here + "/tarfile.py", here + "/argparse.py"
for name in (zero, one):
    fd = os.open(name, os.O_RDONLY)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(fd)
with open(one, "rb") as file:
    file.read()
# %% session b
here = os.path.dirname(os.__file__)
took = []
for name in (here + "/tarfile.py", here + "/argparse.py"):
    begin = time.perf_counter_ns()
    with open(name, "rb") as file:
        file.read()
    took.append((time.perf_counter_ns() - begin) // 1000)
measured("%d and %d microseconds" % tuple(took))
