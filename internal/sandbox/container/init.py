"""The first process of a container: it unpacks the guest, starts it as its child, and tells how it ended.

Sent over the channel and executed by boot.py, whose fd and field it uses. It ends the guest when codemode
goes away, which the end of its standard input shows, and takes the exit status of every process left to it.
It has no more rights than the guest, so nothing it says counts for more than what a guest could say itself.
"""

import posix
import sys

ROOT = "/codemode"  # sandbox.GuestDir
TAIL = 64 << 10  # sandbox.Exit
PARKED = 40  # descriptors from here on are out of the way of those the guest gets
SOCKETS = 512  # a guest may have: what their buffers hold, up to 0.4 MB each, is in no process's memory
WATCH, GLANCE = 50, 200  # milliseconds between two looks at the guest's memory; where the kernel limits it, too


def start():
    """Fork. In the guest it returns the code to run; the container init never returns."""
    version = "%d.%d.%d" % sys.version_info[:3]
    if sys.version_info < (3, 9):
        greet(1 if fd == 0 else fd, version, "", [])
        sys.exit(0)
    files = [(field().decode(), field()) for _ in range(int(field()))]
    env = [field() for _ in range(int(field()))]
    boot, limit, processes = field().decode(), int(field()), int(field())
    out = field()
    mounts = [(field(), field()) for _ in range(int(field()))]
    filters = {field().decode(): field() for _ in range(int(field()))}
    unpack(files)
    if out:
        posix.mkdir(b"/workspace/" + out, 0o755)
    if filters:
        confine(filters)
    channel = [0, 1] if fd == 0 else [fd]
    greet(channel[-1], version, closed(mounts), libraries())
    outputs = [posix.pipe(), posix.pipe()]
    guest = posix.fork()
    if guest == 0:
        if processes:
            # Not by the engine: its own processes, which are somebody else's, would count while it starts one.
            import resource

            resource.setrlimit(resource.RLIMIT_NPROC, (processes, processes))
        return become_guest(channel, outputs, env, ROOT + "/" + boot)
    for inner in channel[-1], outputs[0][1], outputs[1][1]:
        posix.close(inner)
    keep(guest, [read_end for read_end, _ in outputs], limit)


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
        posix.chmod(path, 0o555)


def closed(mounts):
    """The number of the first mount that this user may not use as it is meant."""
    for i, (name, mode) in enumerate(mounts):
        if not posix.access(b"/workspace/" + name, posix.R_OK | (posix.W_OK if mode == b"w" else 0)):
            return str(i)
    return ""


def confine(filters):
    """Install the system call filter, for this process and all that come from it: the engine could not read it."""
    import ctypes

    class Program(ctypes.Structure):  # struct sock_fprog, linux/filter.h
        _fields_ = [("len", ctypes.c_ushort), ("filter", ctypes.c_void_p)]

    code = filters[posix.uname().machine]
    held = ctypes.create_string_buffer(code, len(code))
    program = Program(len(code) // 8, ctypes.addressof(held))
    set_seccomp, mode_filter = 22, 2  # linux/prctl.h, linux/seccomp.h
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(set_seccomp, ctypes.c_ulong(mode_filter), ctypes.byref(program), 0, 0):
        raise OSError(ctypes.get_errno(), "the system call filter was refused")


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


def greet(out, version, closed, site):
    """The first bytes on the channel: see greeting in payload.go. What follows is the guest's."""
    fields = [text.encode("utf-8", "surrogateescape") for text in [version, closed] + site]
    write_all(out, b"codemode%08x" % len(fields) + b"".join(b"%08x" % len(f) + f for f in fields))


def write_all(out, data):
    while data:
        data = data[posix.write(out, data) :]


# The guest.


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

    for entry in env:
        name, _, value = os.fsdecode(entry).partition("=")
        os.environ[name] = value
    posix.setsid()
    sys.argv[:] = [boot, ":".join(["fd", *map(str, range(3, len(ours)))])]
    with open(boot, "rb") as source:
        code = compile(source.read(), boot, "exec")
    names = vars(sys.modules["__main__"])
    for name in [name for name in names if not name.startswith("__")]:
        del names[name]
    names["__file__"], names["__doc__"] = boot, None
    return code


# The init.


def keep(guest, tails, limit):
    """Wait for the guest, kill the processes that it has left, and report."""
    import _signal
    from _thread import start_new_thread

    _signal.signal(_signal.SIGINT, _signal.SIG_DFL)  # no handler: the kernel then keeps signals from process 1
    over = []
    start_new_thread(watch, (limit, over))
    while True:
        pid, status = posix.waitpid(-1, 0)
        if pid == guest:
            break
    kill_all()
    try:
        while True:
            posix.waitpid(-1, 0)
    except ChildProcessError:
        pass
    code, signal = (0, posix.WTERMSIG(status)) if posix.WIFSIGNALED(status) else (posix.WEXITSTATUS(status), 0)
    memory = signal == 9 and (bool(over) or killed_for_memory())
    out, err = map(tail, tails)
    head = b"\0codemode-exit %08x%08x%08x%08x%08x" % (code, signal, memory, len(out), len(err))
    try:
        write_all(2, head + out + err)
    finally:
        posix._exit(0)


def kill_all():
    """End every process but this one; no fork gets away."""
    try:
        posix.kill(-1, 9)
    except ProcessLookupError:
        pass


def watch(limit, over):
    """End the guest when codemode has gone, or when it is out of memory: all of it, not what the kernel picks."""
    import select

    host = select.poll()
    host.register(0, 0)
    exceeded = (lambda: holds_more(limit)) if limit else killed_for_memory
    while not host.poll(WATCH if limit else GLANCE):
        if exceeded():
            over.append(True)
            break
    kill_all()


def holds_more(limit):
    """The quick sum counts more than once what processes share; so the slow one condemns."""
    if sockets() > SOCKETS:
        return True
    files = sum(map(used, ("/tmp", "/workspace", "/dev/shm", ROOT)))
    pids = [pid for pid in posix.listdir("/proc") if pid.isdigit() and pid != "1"]
    return files + sum(map(quick, pids)) > limit and files + sum(map(exact, pids)) > limit


def sockets():
    try:
        with open("/proc/net/unix", "rb") as table:
            return table.read().count(b"\n") - 1
    except OSError:
        return 0


def used(mount):
    try:
        space = posix.statvfs(mount)
    except OSError:
        return 0
    return (space.f_blocks - space.f_bfree) * space.f_frsize


def quick(pid):
    return first(pid, "status", ("RssAnon:", "RssShmem:", "VmSwap:", "VmPTE:"))


def exact(pid):
    """What cannot be told counts as the quick figure: to be unreadable must not be worth anything."""
    shared = first(pid, "smaps_rollup", ("Pss_Anon:", "Pss_Shmem:", "SwapPss:"))
    return shared + first(pid, "status", ("VmPTE:",)) if shared else quick(pid)


def first(pid, name, fields):
    """The bytes in fields of a process, as a thread tells that lives: the first one may have ended."""
    try:
        threads = posix.listdir("/proc/%s/task" % pid)
    except OSError:
        return 0
    for thread in threads:
        try:
            with open("/proc/%s/task/%s/%s" % (pid, thread, name)) as lines:
                total = sum(int(line.split()[1]) for line in lines if line.startswith(fields))
        except (OSError, ValueError, IndexError):
            continue
        if total:
            return total << 10
    return 0


def killed_for_memory():
    for name in "/sys/fs/cgroup/memory.events", "/sys/fs/cgroup/memory/memory.oom_control":
        try:
            with open(name) as lines:
                return any(line.startswith("oom_kill ") and line.split()[1] != "0" for line in lines)
        except OSError:
            pass
    return False


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
