"""How a container's init watches its guest; executed behind init.py, in the same namespace.

It ends a guest that holds too much, of memory where no cgroup limits that, and of what no cgroup counts.
"""

import posix
from time import monotonic, sleep

LONG = 5 << 10  # of what is told of a mapping; a path that programs open has 4096 bytes
DEEP = 5  # files and folders, with fewer of which there is no such path
SOCKETS = 512  # a guest may have
SOCKET = 400 << 10  # bytes that the buffers of one hold, as in package watchdog; they are in no process's memory
LOCKS = 16384  # sandbox.MaxLocks; no cgroup counts them
TABLE = 64 * LOCKS  # bytes of so many in /proc/locks, or more: code can make it grow while it is read
LINES = 16384  # of mappings that are read in one look, or one process's
TERMINALS = 64  # sandbox.MaxTerminals: all that is not of the host's own /dev/pts shares 3,072 (kernel.pty)
BESIDE = 32  # threads more than a guest may have: an engine's programs for one moment, or what a guest made of one
INODE = 1280  # bytes that the kernel keeps of a file in memory, beside what is in it
PAGE = 4096  # bytes, at least
MAPPING, LINK, ANCESTORS = 384, 64, 128  # what the kernel keeps of a mapping, as in package watchdog
GROWN = 8  # the part of the limit that the kernel's memory has grown by before links to ended processes count
COPIES = 2  # page tables count so often, as in package watchdog: what a fork copies is in no list yet
TOLD = "State:", "Threads:", "VmSize:", "RssAnon:", "RssShmem:", "VmSwap:", "VmPTE:"  # of a process's status
UNREAD = -1  # what is told of a process that does not let itself be read
PATIENCE = 20  # looks in a row at such a process: an engine's is one for a moment, when it starts another in here
REST = 10  # times as long as looking through descriptors took, until they are looked through again
FEW = 8  # processes and threads that are started between two looks
SELDOM = 8  # looks, after which they are at the latest
STOP, CONTINUE = 19, 18  # signals
SIGNAL = 128  # bytes of a signalfd_siginfo, and of a sigset_t
TOO_MUCH_MEMORY, TOO_MANY_PIPES, TOO_MANY_ENTRIES, TOO_MANY_LOCKS, UNREADABLE = 1, 2, 3, 4, 5  # causes in payload.go
TOO_MANY_KERNEL_FILES, TOO_MANY_FOLDERS, TOO_MANY_TERMINALS = 6, 7, 8
WATCH, GLANCE = 50, 200  # milliseconds between two looks at the guest's memory; where the kernel limits it, too
SETTLE = 1  # seconds, in which a guest that was stopped stands still
LATE = 100  # milliseconds that a look takes on a busy machine, or where the guest is what is busy


def watch(guest, limit):
    """Kill all processes of the guest at the end of standard input (codemode is gone, or Kill in guest.go closed it),
    when the guest has ended, whose status is returned, or when it is out of memory, or has too much else that is memory
    of the kernel's, which is returned as well. Its limit of threads is not one of programs that the engine starts
    beside it, which it may take over."""
    import resource
    import select

    most = resource.getrlimit(resource.RLIMIT_NPROC)[0] % 2**64 + BESIDE  # RLIM_INFINITY is -1
    host = select.poll()
    host.register(0, 0)
    ends = ends_of_processes()
    host.register(ends, select.POLLIN)
    exceeded = (lambda: holds_more(limit)) if limit else killed_for_memory
    between, due = WATCH if limit else GLANCE, 0
    at, ready = monotonic() + between / 1000, {}
    try:
        while True:
            status = end_of(guest, posix.WNOHANG)
            if status is not None or 0 in ready:
                return status, 0
            ready = dict(host.poll(max(0, at - monotonic()) * 1000))
            if ends in ready:
                posix.read(ends, SIGNAL)
            if 0 in ready or monotonic() < at:
                continue
            stop_after(LATE)
            many = waits_for_pipes()
            if started() > FEW:
                stop()
            many = many or TOO_MANY_TERMINALS * (terminals() > TERMINALS) or int(threads() > most or exceeded())
            began = monotonic()
            if began > due:
                many = many or holds_in_kernel()
                due = monotonic() + min(REST * (monotonic() - began), SELDOM * between / 1000)
            if many or locks() > LOCKS:  # those last, which are taken the fastest: a guest that was stopped takes none
                return None, many or TOO_MANY_LOCKS
            go_on()
            at = monotonic() + between / 1000
    finally:  # who cannot be watched is ended, too
        kill_all()


def ends_of_processes():
    """A descriptor that can be read when a process has ended (signalfd)."""
    import _signal

    _signal.pthread_sigmask(_signal.SIG_BLOCK, [_signal.SIGCHLD])
    return libc("signalfd", -1, (1 << _signal.SIGCHLD - 1).to_bytes(SIGNAL, "little"), 0)


def stop_after(milliseconds):
    """Have the guest stopped for the rest of a look that takes longer: all of its processes share the processor with
    this one, which is one of many, so that their looks would come to no end."""
    standing["still"] = monotonic() + milliseconds / 1000


def in_time():
    """Is called all through a look. Who was about to send SIGCONT has sent it by the next time."""
    if monotonic() > standing["still"]:
        stop()


def stop():
    standing["sent"] = signal_all(STOP)
    stop_after(WATCH)


def go_on():
    """Twice, the second time at the end of the next look: a process that was just being made was seen to stay stopped
    (Linux 6.18, 2026-11)."""
    sent = standing.pop("sent", False)
    if sent or standing.pop("again", False):
        signal_all(CONTINUE)
    if sent:
        standing["again"] = True


standing = {}


def started():
    """How many processes and threads the guest has started since it was asked last: who hands on what it has, and ends
    before it is looked at, would not be seen. A number may have begun anew."""
    with open("/proc/loadavg") as file:
        now = int(file.read().split()[-1])
    before, numbers["last"] = numbers.get("last", now), now
    return abs(now - before)


numbers = {}


def holds_more(limit):
    """The quick sum counts shared memory more than once, so the exact one decides."""
    many = sockets()
    beside = sum(map(used, memory())) + INODE * sum(made()) + SOCKET * many + inherited(limit)
    if many > SOCKETS or beside + quick() > limit and beside + exact_of(limit - beside) > limit:
        return True
    return max(made()) >= DEEP and hidden(guests())


def quick():
    """What all hold, with all that they share, and may hold unseen."""
    before, now = dict(seen), {pid: told(pid) for pid in guests()}
    both = *before.values(), *now.values(), (0, 0)
    largest = max(held for held, *_ in both), max(process[1] for process in both)
    seen.clear()
    seen.update((pid, with_unseen(process, *before.get(pid, largest)[:2])) for pid, process in now.items())
    return sum(held + mappings + unseen for held, _, mappings, unseen in seen.values())


seen = {}  # of each process at the last look, what told() says, with what may be unseen for how many threads run


def exact_of(limit):
    """Who may hold too much is stopped before it is counted: what is read waits for locks of address spaces, which some
    can have nearly always, and others would take memory meanwhile. Where it is too much, what was unseen is seen by the
    time all stand still, or given back, and is counted again. Who takes much more until then does so in a system call,
    such as one that reads a large file, and is not waited for."""
    stop()
    if exact_sum(limit) <= limit:
        return 0
    first, until = {}, monotonic() + SETTLE
    while any(map(moves, guests())) and monotonic() < until:
        if grown(first) > limit // 4:
            return limit + 1
        sleep(0.002)
    quick()
    return exact_sum(limit)


def grown(first):
    """How much more processes hold than when each was seen first."""
    now = {pid: told(pid)[0] for pid in guests()}
    return sum(max(0, held - first.setdefault(pid, held)) for pid, held in now.items())


def exact_sum(limit):
    """What takes longer than it is between two looks is looked at with all of them stopped, and no further than is too
    much."""
    if "sent" not in standing:
        stop_after(WATCH)
    total = 0
    for pid, (held, tables, mappings, unseen) in seen.items():
        total += (exact(pid, tables) or held + mappings) + unseen
        if total > limit:
            break
    return total


def hidden(pids):
    """Whether one of them hides something, of which so many are looked at as take no longer than a look may: the rest
    is looked at next."""
    if not rest:
        rest.extend(pids)
    lines = 0
    while rest and lines < LINES:
        hides, read = look_through(rest.pop())
        if hides:
            return True
        lines += read
    return False


rest = []


def guests():
    return [pid for pid in posix.listdir("/proc") if pid.isdigit() and pid != "1"]


def locks():
    """On parts of files, of this container's processes: the kernel tells of no others."""
    text = b""
    try:
        with open("/proc/locks", "rb", 0) as table:
            while len(text) < TABLE:
                in_time()
                more = table.read(TABLE - len(text))
                if not more:
                    return text.count(b" POSIX ")
                text += more
    except OSError:
        return 0
    return LOCKS + 1


def terminals():
    try:
        return len(posix.listdir("/dev/pts"))
    except OSError:
        return 0


def threads():
    return sum(len(threads_of(pid)) for pid in posix.listdir("/proc") if pid.isdigit())


def threads_of(pid):
    in_time()
    try:
        return posix.listdir("/proc/%s/task" % pid)
    except OSError:
        return []  # it has just ended


def sockets():
    try:
        with open("/proc/net/unix", "rb") as table:
            return table.read().count(b"\n") - 1
    except OSError:
        return 0


def used(mount):
    space = space_of(mount)
    return (space.f_blocks - space.f_bfree) * space.f_frsize if space else 0


def space_of(mount):
    try:
        return posix.statvfs(mount)
    except OSError:
        return None


def memory():
    """Where the guest can have files in memory, and how many were there before it: an engine may make more such places
    than it was asked for."""
    if not places:
        with open("/proc/self/mountinfo") as mounts:
            for line in mounts:
                before, _, kind = line.partition(" - ")
                place = before.split()[4]  # of an odd name, which an image may have, it is written by escapes
                if kind.startswith("tmpfs ") and writable(place):
                    places[place] = files_in(place)
    return places


def writable(place):
    try:  # its owner can change its mode
        return posix.access(place, posix.W_OK) or posix.stat(place).st_uid == posix.getuid()
    except OSError:
        return False


places = {}


def files_in(mount):
    space = space_of(mount)
    return space.f_files - space.f_ffree if space else 0


def made():
    """How many files and folders the guest has in each of what is in memory."""
    return [files_in(mount) - before for mount, before in memory().items()]


def look_through(pid):
    """Whether it has a file mapped by a path that no program can open it by: who reads of that has the kernel keep as
    much for each descriptor, and nobody counts it. It may as well where it does not let its mappings be read. And how
    many it has."""
    lengths = look(pid, "maps", lambda lines: [len(line) for line in lines], denied=UNREAD)
    if lengths != UNREAD:
        unread.pop(pid, None)
        return lengths and max(lengths) > LONG, len(lengths or [])
    unread[pid] = unread.get(pid, 0) + 1
    return unread[pid] > PATIENCE, 0


unread = {}  # looks in a row, by process


def told(pid):
    """What a process holds, with all that it shares; what one copy of its page tables takes; what the kernel may keep
    of its mappings; and how many of its threads may just be forking, or leaving an address space."""
    fields = look(pid, "status", fields_of)
    if not fields:
        return 0, 0, 0, int(moves(pid, "ZX"))
    size, *held = (int(fields.get(name, "0").split()[0]) << 10 for name in TOLD[2:])
    threads = int(fields["Threads:"])
    rests = fields["State:"][0] == "T" or fields["State:"][0] == "S" and threads == 1
    pages = size // PAGE  # of which each may be a mapping
    return sum(held) + (COPIES - 1) * held[-1], held[-1], pages * mapping(pid), 0 if rests else threads


def fields_of(lines):
    fields = dict(line.split(None, 1) for line in lines if line.startswith(TOLD))
    return "VmPTE:" in fields and fields


def with_unseen(process, held, tables):
    """A thread that forks has a copy of its address space that is in no list yet; one that ends, or executes a program,
    gives its own back when it has left it already: as much as there was at the last look, or as the largest of all had
    where it is new. The first is what page tables count twice for."""
    now, own, mappings, running = process
    if running and not now:
        return held, tables, 0, 0
    return now, own, mappings, max(0, running * max(tables, own) - (COPIES - 1) * own) if running else 0


def moves(pid, rests="TtZXD"):
    """Whether a thread of it runs. Who waits in the kernel, as for a child that shares its memory, does not."""
    for thread in threads_of(pid):
        try:
            with open("/proc/%s/task/%s/stat" % (pid, thread), errors="replace") as file:
                if file.read().rpartition(")")[2].split()[0] not in rests:
                    return True
        except (OSError, IndexError):
            pass  # it has just ended
    return False


def mapping(pid):
    return MAPPING + LINK * min(int(pid), ANCESTORS)  # there is a lower number for each process that it descends from


def inherited(limit):
    """What mappings' links to processes that have ended take at most, which nothing tells: as in package watchdog, as
    far as the machine's kernel has more memory, since there was a process of a number so high."""
    pids = [pid for pid in guests() if int(pid) > ANCESTORS]
    if not pids:
        return 0
    numbers["most"] = max(numbers.get("most", 0), *map(int, pids))  # they begin again one day
    now = unreclaimable()
    least = numbers["kernel"] = min(numbers.get("kernel", now), now)
    if now - least < limit // GROWN:
        return 0
    total = 0
    for pid in pids:
        lines = look(pid, "maps", lambda lines: sum(1 for _ in lines))
        total += lines * LINK * (numbers["most"] - ANCESTORS)
        if total > now - least:
            return now - least
    return total


def unreclaimable():
    with open("/proc/meminfo") as lines:
        return next((int(line.split()[1]) << 10 for line in lines if line.startswith("SUnreclaim:")), 0)


def exact(pid, tables):
    """0 where it cannot be told, which counts as the quick figure: to be unreadable must not be worth anything."""
    shared = look(pid, "smaps_rollup", shared_of) << 10
    mappings = look(pid, "maps", lambda lines: sum(1 for _ in lines)) * mapping(pid) if shared else 0
    return shared and shared + COPIES * tables + mappings


def shared_of(lines):
    parts = "Pss_Anon:", "Pss_Shmem:", "SwapPss:"
    return sum(int(line.split()[1]) for line in lines if line.startswith(parts))


def look(pid, name, measure, denied=0):
    """What there is in a file of a process, as a thread tells that lives: the first one may have ended."""
    for thread in threads_of(pid):
        try:
            with open("/proc/%s/task/%s/%s" % (pid, thread, name), errors="replace") as lines:
                total = measure(lines)
        except PermissionError:
            total = denied
        except (OSError, ValueError, IndexError):
            continue
        if total:
            return total
    return 0


def killed_for_memory():
    for name in "/sys/fs/cgroup/memory.events", "/sys/fs/cgroup/memory/memory.oom_control":
        try:
            with open(name) as lines:
                return any(line.startswith("oom_kill ") and line.split()[1] != "0" for line in lines)
        except OSError:
            pass
    return False
