"""The first process of a container: it unpacks the guest, starts it as its child, and tells how it ended.

Sent over the channel and executed by boot.py, whose fd and field it uses. It ends the guest when codemode
goes away, which the end of its standard input shows, and takes the exit status of every process left to it.
It is of the guest's user, and out of its reach: no other process opens its descriptors or its memory. What it says
counts for no more than what a guest could say itself, which shares its channel and outputs.
"""

import posix
import sys

ROOT = "/codemode"  # sandbox.GuestDir
TAIL = 64 << 10  # sandbox.Exit
LARGEST_PAGE = 65536  # bytes, on any machine: a tmpfs that covers a folder is of one page
SLACK = 5_000_000  # nanoseconds: sandbox.TimerSlack
PARKED = 40  # descriptors from here on are out of the way of those the guest gets


def start():
    """Fork. In the guest it returns the code to run; the container init never returns."""
    version = "%d.%d.%d" % sys.version_info[:3]
    if sys.version_info < (3, 9):
        greet(1 if fd == 0 else fd, version)
        sys.exit(0)
    files = [(field().decode(), field()) for _ in range(int(field()))]
    env = [field() for _ in range(int(field()))]
    boot, limit, shared = field().decode(), int(field()), field()
    limits = [(int(field()), int(field()), int(field())) for _ in range(int(field()))]
    out = field()
    mounts = [mount() for _ in range(int(field()))]
    filters, for_guest = [{field().decode(): field() for _ in range(int(field()))} for _ in range(2)]
    if posix.getpid() != 1:  # an engine's settings, or a pod's, can have it see the processes of others
        sys.exit("codemode: this container shares its processes with others")
    unpack(files)
    if out:
        posix.mkdir(b"/workspace/" + out, 0o755)
    limit_resources(limits)
    fenced = fence() if shared else ""
    if filters:
        confine(filters)
    if shared:
        prove_no_network()
    channel = [0, 1] if fd == 0 else [fd]
    program = posix.readlink("/proc/self/exe")
    greet(channel[-1], version, closed(mounts), replaced(mounts), fenced, program, within_reach(), *libraries())
    for name, _, _, place, _ in mounts:
        posix.symlink(place, b"/workspace/" + name)
    memory()  # before the guest can change what is its own
    outputs = [posix.pipe(), posix.pipe()]
    open_to_others(False)  # from before there are any
    guest = posix.fork()
    if guest == 0:
        open_to_others(True)
        posix.setsid()  # away from this one's: the kernel shares out the processors by session, too (autogroup)
        set_timer_slack = 29  # linux/prctl.h
        libc("prctl", set_timer_slack, SLACK, 0, 0, 0)
        be_first()
        if not shared:
            keep_settings()
        confine(for_guest)
        return become_guest(channel, outputs, env, ROOT + "/" + boot)
    for inner in ([] if shared else channel[-1:]) + [outputs[0][1], outputs[1][1]]:  # a pod whose output ends gets no
        posix.close(inner)  # input any more, which would end the guest
    supervise(guest, [read_end for read_end, _ in outputs], limit)


def open_to_others(may):
    """Whether other processes of this user may open this one's descriptors and memory in /proc: who holds its standard
    input keeps it from seeing that codemode has gone."""
    set_dumpable = 4  # linux/prctl.h
    if libc("prctl", set_dumpable, int(may), 0, 0, 0):
        sys.exit("codemode: the first process cannot be kept apart")


def libc(function, *args):
    import _ctypes  # ctypes itself takes ten times as long

    return _ctypes.call_function(_ctypes.dlsym(_ctypes.dlopen(None, 2), function), args)


def unpack(files):
    directories = [ROOT]
    for name, data in files:
        parts = name.split("/")[:-1]
        for depth in range(1, len(parts) + 1):
            path = ROOT + "/" + "/".join(parts[:depth])
            if path not in directories:
                posix.mkdir(path, 0o755)
                directories.append(path)
        out = posix.open(ROOT + "/" + name, posix.O_WRONLY | posix.O_CREAT | posix.O_EXCL | posix.O_CLOEXEC, 0o644)
        write_all(out, data)
        posix.fchmod(out, 0o444)
        posix.close(out)
    for path in directories:  # against mistakes: the guest owns them
        try:
            posix.chmod(path, 0o555)
        except PermissionError:  # of ROOT, where it is a volume of a pod
            pass


def limit_resources(limits):
    """Set rlimits for this process and its children. A limit that is already lower stays."""
    if limits:
        import resource

        for name, soft, hard in limits:
            most = resource.getrlimit(name)[1] % 2**64  # RLIM_INFINITY is -1
            resource.setrlimit(name, (min(soft, most), min(hard, most)))


def mount():
    """One of the host's: its name, whether it may be changed, its inode, where it is, and the paths in it to cover."""
    return field(), field() == b"w", field(), field(), [field() for _ in range(int(field()))]


def closed(mounts):
    """The number of the first mount that this user may not use as it is meant."""
    for i, (_, write, _, place, _) in enumerate(mounts):
        if not posix.access(place, posix.R_OK | (posix.W_OK if write else 0)):
            return str(i)
    return ""


def replaced(mounts):
    """The number of the first mount that is of something else, or whose covers are elsewhere: the engine took paths,
    which another session's code may have had lead elsewhere for that moment."""
    covers = {place + b"/" + path for _, _, _, place, paths in mounts for path in paths}
    astray = covers and covers != set(covered())
    for i, (_, _, inode, place, paths) in enumerate(mounts):
        try:
            now = posix.stat(place)
        except OSError:
            continue  # it is closed
        if inode and inode != b"%d:%d" % (now.st_dev, now.st_ino) or paths and astray:
            return str(i)
    return ""


def covered():
    """What is covered in this container, but for what engines cover of a machine."""
    with open("/proc/self/mountinfo", "rb") as mounts:
        for line in mounts:
            before, _, after = line.partition(b" - ")
            root, place = before.split()[3:5]
            place = unescape(place)
            if place.startswith((b"/proc/", b"/sys/", b"/dev/")):
                continue
            space = root == b"/" and after.startswith(b"tmpfs ") and space_of(place)
            null = root == b"/null" and after.startswith((b"devtmpfs ", b"tmpfs "))
            if null or space and space.f_blocks * space.f_frsize <= LARGEST_PAGE:
                yield place


def unescape(path):
    head, *rest = path.split(b"\\")
    return head + b"".join(bytes([int(part[:3], 8)]) + part[3:] for part in rest)


def confine(filters):
    """Install a system call filter, for this process and all that come from it."""
    import array

    set_seccomp, mode_filter = 22, 2  # linux/prctl.h, linux/seccomp.h
    code = array.array("B", filters[posix.uname().machine])
    address, size = code.buffer_info()
    program = (size // 8).to_bytes(8, sys.byteorder) + address.to_bytes(8, sys.byteorder)  # sock_fprog, linux/filter.h
    if libc("prctl", set_seccomp, mode_filter, program, 0, 0):
        sys.exit("codemode: the system call filter was refused")


def fence():
    """Have Landlock restrict the guest in a pod, whose mounts are not as an engine makes them.

    It keeps processes that codemode starts beside the guest later from it, which have no system call filter: whoever is
    in a domain cannot touch the memory of one outside, and from ABI 6 on not signal it. And it writes to memory alone,
    and executes nothing there.
    """
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    create, add, restrict = 444, 445, 446
    version = libc.syscall(create, None, ctypes.c_size_t(0), 1)
    if version < 1:
        return ""
    execute, write, change = 1, 1 << 1, sum(1 << bit for bit in range(4, 13))
    change |= (1 << 13 if version >= 2 else 0) | (1 << 14 if version >= 3 else 0)  # rename elsewhere, truncate
    fields = [execute | write | change, 0] + ([1 | 2] if version >= 6 else [])
    attr = (ctypes.c_uint64 * len(fields))(*fields)
    rules = libc.syscall(create, attr, ctypes.c_size_t(8 * len(fields) if version >= 4 else 8), 0)
    memory = ["/tmp", "/workspace", "/dev/shm"]
    allowed = [(path, write | change) for path in memory]
    allowed += [("/dev/" + name, write) for name in ("null", "zero", "full")]
    others = {"tmp", "workspace", "dev", "proc", "sys", ROOT[1:]}
    allowed += [("/" + name, execute) for name in posix.listdir("/") if name not in others]
    for path, rights in allowed:
        try:
            held = posix.open(path, posix.O_PATH | posix.O_CLOEXEC)
        except OSError:
            continue
        rule = rights.to_bytes(8, sys.byteorder) + held.to_bytes(4, sys.byteorder)  # landlock_path_beneath_attr
        libc.syscall(add, rules, 1, rule, 0)
        posix.close(held)
    done = libc.syscall(restrict, rules, 0)
    posix.close(rules)
    return "" if done else "fenced"


def prove_no_network():
    """What is on the network of a pod is for its cluster to say: here nothing of a network may be made at all."""
    import _socket

    for family, kind in (2, 1), (2, 2), (10, 1), (10, 2), (16, 3), (17, 3), (40, 1):
        try:
            _socket.socket(family, kind).close()
        except OSError:
            continue
        sys.exit("codemode: the network is open: a socket of family %d" % family)


def libraries():
    """The directories of the image's packages, which Python was told (-S) to leave out of its path."""
    import site

    before = list(sys.path)
    try:
        site.main()
    except Exception:
        pass  # of a .pth file in the image: Python itself would go on, too
    added = [path for path in sys.path if path not in before]
    sys.path[:] = before
    return added


def within_reach():
    """The variable by which a loader would find code where the guest writes. What is started beside the guest has the
    same variables, and / as its folder, which an empty part of one names."""
    from posixpath import realpath

    folders = (b"/tmp/", b"/workspace/", b"/dev/shm/", ROOT.encode() + b"/")
    for name, value in posix.environ.items():
        if not name.startswith(b"LD_") and name not in (b"GCONV_PATH", b"LOCPATH"):
            continue
        for part in value.replace(b";", b":").replace(b" ", b":").split(b":"):
            if (realpath(b"/" + part.lstrip(b"/")) + b"/").startswith(folders):
                return name.decode("utf-8", "replace")
    return ""


def greet(out, *texts):
    """The first bytes on the channel: see greeting in payload.go. What follows is the guest's."""
    fields = [text.encode("utf-8", "surrogateescape") for text in texts]
    write_all(out, b"codemode%08x" % len(fields) + b"".join(b"%08x" % len(f) + f for f in fields))


def write_all(out, data):
    while data:
        data = data[posix.write(out, data) :]


# The guest.


def be_first():
    """To be ended for want of memory, so that the init can tell of it."""
    try:
        with open("/proc/self/oom_score_adj", "w") as first:
            first.write("1000")
    except OSError:
        pass


def keep_settings():
    """Have Landlock keep the guest from writing in /proc, where a process could change its timer slack. On a kernel
    without it the guest is started all the same."""
    create, add, restrict, write, refer = 444, 445, 446, 1 << 1, 1 << 13
    if libc("syscall", create, None, 0, 1) < 2:  # its version; in the first, no file goes to another folder
        return
    rights = (write | refer).to_bytes(8, sys.byteorder)
    rules = libc("syscall", create, rights, len(rights), 0)
    for name in posix.listdir("/"):
        if name in ("proc", "sys"):
            continue
        try:
            held = posix.open("/" + name, posix.O_PATH | posix.O_DIRECTORY | posix.O_NOFOLLOW | posix.O_CLOEXEC)
        except OSError:
            continue  # no folder
        rule = rights + held.to_bytes(4, sys.byteorder)  # landlock_path_beneath_attr
        libc("syscall", add, rules, 1, rule, 0)
        posix.close(held)
    libc("syscall", restrict, rules, 0)
    posix.close(rules)


def become_guest(channel, outputs, env, boot):
    """Take the descriptors that boot.py of the guest is told of, and nothing of the init's."""
    (out_read, out_write), (err_read, err_write) = outputs
    ours = [posix.open("/dev/null", posix.O_RDONLY), out_write, err_write, *channel, out_read, err_read]
    for i, source in enumerate(ours):
        posix.dup2(source, PARKED + i)
    for i in range(len(ours)):
        posix.dup2(PARKED + i, i, i < 3)
    posix.closerange(len(ours), PARKED + len(ours))
    import os

    os.chdir("/workspace")
    for entry in env:
        name, _, value = os.fsdecode(entry).partition("=")
        os.environ[name] = value
    sys.argv[:] = [boot, ":".join(["fd", *map(str, range(3, len(ours)))])]
    with open(boot, "rb") as source:
        code = compile(source.read(), boot, "exec")
    names = vars(sys.modules["__main__"])
    for name in [name for name in names if not name.startswith("__")]:
        del names[name]
    names["__file__"], names["__doc__"] = boot, None
    return code


# The init.


def supervise(guest, tails, limit):
    """Watch the guest until it has ended, kill the processes that it has left, and report how it ended. One thread does
    it all: another one, which has a number of its own, the guest could keep from the processor (setpriority)."""
    import _signal

    _signal.signal(_signal.SIGINT, _signal.SIG_DFL)  # no handler: the kernel then keeps signals from process 1
    status, over = None, 0
    try:
        status, over = watch(guest, limit)
    except Exception:
        sys.excepthook(*sys.exc_info())
    if status is None:
        status = end_of(guest)
    kill_all()
    end_of(None)
    code, signal = (0, posix.WTERMSIG(status)) if posix.WIFSIGNALED(status) else (posix.WEXITSTATUS(status), 0)
    cause = (over or int(killed_for_memory())) if signal == 9 else 0
    out, err = map(tail, tails)
    head = b"\0codemode-exit %08x%08x%08x%08x%08x" % (code, signal, cause, len(out), len(err))
    try:
        write_all(2, head + out + err)
    finally:
        posix._exit(0)


def end_of(guest, flags=0):
    """Take the exit status of each process that has ended, until that of the guest, which is returned."""
    try:
        while True:
            pid, status = posix.waitpid(-1, flags)
            if pid == guest:
                return status
            if pid == 0:
                return None  # others go on
    except ChildProcessError:
        return None


def kill_all():
    """End every process but this one; no fork gets away. No signal interrupts a system call that reads a large file, so
    the memory of each is taken from it (Linux 5.15), which ends that, too."""
    signal_all(9)
    open_process, release = 434, 448  # pidfd_open, process_mrelease
    for pid in guests():
        held = libc("syscall", open_process, int(pid), 0)
        if held >= 0:
            libc("syscall", release, held, 0)
            posix.close(held)


def signal_all(number):
    try:
        posix.kill(-1, number)
    except ProcessLookupError:
        pass
    return True


def tail(pipe):
    """The last bytes in a pipe whose other holders have ended."""
    posix.set_blocking(pipe, False)
    data = b""
    try:
        while True:
            more = posix.read(pipe, TAIL)
            if not more:
                break
            data = (data + more)[-TAIL:]
    except OSError:
        pass
    return data
