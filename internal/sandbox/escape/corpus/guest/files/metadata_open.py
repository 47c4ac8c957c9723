# tries: to change modes, owners, times, attributes and flags of files outside by a descriptor that can only be read
# must: held: EPERM, ENOTSUP or a read-only file system
import ctypes
import encodings
import os
import sys

from attempt import _libc, escaped, held, syscall

GETFLAGS, SETFLAGS, FSGETXATTR, FSSETXATTR = 0x80086601, 0x40086602, 0x801C581F, 0x401C5820
SETXATTRAT, FILE_SETATTR = 463, 469  # of Linux 6.13 and 6.17; no C library knows them
EMPTY_PATH, CWD, READ_ONLY_MODE_3, TRUNCATE = 0x1000, -100, 3, 0o1000

done = []


def tried(name, path, result):
    if result[0] != -1:
        done.append((name, path))


def change(path, fd):
    """Sets what is set already: nothing is the worse for it, and the kernel asks for the same rights."""
    now = os.stat(path)
    mode, by_fd, empty = now.st_mode & 0o7777, b"/proc/self/fd/%d" % fd, ctypes.c_char_p(b"")
    times = (ctypes.c_long * 4)(now.st_atime_ns // 10**9, now.st_atime_ns % 10**9, now.st_mtime_ns // 10**9, now.st_mtime_ns % 10**9)
    name = ctypes.c_char_p(b"user.codemode")
    value = (ctypes.c_uint64 * 2)(ctypes.addressof(ctypes.create_string_buffer(b"x")), 1)
    flags = ctypes.create_string_buffer(64)
    tried("fchmod", path, syscall("fchmod", fd, mode))
    tried("fchmodat", path, syscall("fchmodat", CWD, ctypes.c_char_p(by_fd), mode))
    tried("fchmodat2", path, syscall("fchmodat2", fd, empty, mode, EMPTY_PATH))
    tried("chmod", path, syscall("chmod", ctypes.c_char_p(path.encode()), mode))
    tried("fchown", path, syscall("fchown", fd, os.getuid(), os.getgid()))
    tried("fchownat", path, syscall("fchownat", fd, empty, os.getuid(), os.getgid(), EMPTY_PATH))
    tried("futimens", path, syscall("utimensat", fd, None, times, 0))
    tried("utimensat", path, syscall("utimensat", fd, empty, times, EMPTY_PATH))
    tried("utime", path, syscall("utime", ctypes.c_char_p(path.encode()), (ctypes.c_long * 2)(times[0], times[2])))
    tried("futimesat", path, syscall("futimesat", CWD, ctypes.c_char_p(path.encode()), (ctypes.c_long * 4)(times[0], 0, times[2], 0)))
    tried("fsetxattr", path, syscall("fsetxattr", fd, name, b"x", 1, 0))
    tried("setxattr", path, syscall("setxattr", ctypes.c_char_p(by_fd), name, b"x", 1, 0))
    tried("setxattrat", path, (_libc.syscall(SETXATTRAT, fd, empty, EMPTY_PATH, name, value, 16), 0))
    tried("fremovexattr", path, syscall("fremovexattr", fd, name))
    tried("file_setattr", path, (_libc.syscall(FILE_SETATTR, fd, empty, flags, 24, EMPTY_PATH), 0))
    for get, put in (GETFLAGS, SETFLAGS), (FSGETXATTR, FSSETXATTR):
        if syscall("ioctl", fd, get, flags)[0] == 0:
            tried("ioctl %#x" % put, path, syscall("ioctl", fd, put, flags))


interpreter = os.path.realpath(sys.executable)
for path in interpreter, os.__file__, os.path.dirname(encodings.__file__), os.path.dirname(interpreter):
    change(path, os.open(path, os.O_RDONLY))
    for flags in READ_ONLY_MODE_3, TRUNCATE | READ_ONLY_MODE_3:  # opens for neither reading nor writing
        if not os.path.isdir(path):
            try:
                fd = os.open(path, flags)
            except OSError:
                continue
            change(path, fd)  # a bind of a file of the user's own is opened so
            os.close(fd)
(escaped if done else held)("%d: %s" % (len(done), done[:8]))
