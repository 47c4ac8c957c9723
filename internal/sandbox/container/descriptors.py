"""What a container's init counts by the descriptors of its guest; executed behind watch.py, in the same namespace.

The kernel keeps memory for each of these that nothing else counts, or counts it for all that is the user's.
"""

import posix
from itertools import islice

UNBOUNDED = "maps", "smaps", "numa_maps"  # of a process in /proc: the kernel keeps a line of each descriptor of them
KEEPING = "environ", "cmdline", "auxv", "smaps_rollup"  # of another process, whose memory is kept while one is read
MAX_KEEPING = 16  # sandbox.MaxUnbounded: of those, of /proc/locks and of files in fdinfo, which keep a line for each lock
KERNEL = "proc", "sysfs", "cgroup", "cgroup2", "debugfs", "tracefs", "securityfs", "selinuxfs"  # kinds of mounts
KERNEL_FILES = 256  # sandbox.MaxKernelFiles, in those: of each the kernel keeps what it has read into, 4 or 8 KB
MEMORY = "mem", "pagemap"  # none of another process: a read may be so long that its memory outlives it, unseen
FOLDERS = 2048  # sandbox.MaxFolders: descriptors of folders: file systems keep names for each that has been read
PIPES = 256  # sandbox.MaxPipes: the kernel counts their pages for all that is the user's
FEW_PIPES = PIPES // 4  # where that is used up
USED_UP = 2  # seconds without a break: whoever has used it up in less is ended for more than a guest may have
ENTRIES = 16384  # of epolls, sandbox.MaxWatches; 192 bytes each, which are memory beyond the limit without a cgroup
HIDDEN = 8 * ENTRIES  # in epolls that only threads have, if each had as many as the largest that was seen
FOLDER, REGULAR = 4, 8  # types of files, as in modes
HEAD = 9  # lines at most in a file of fdinfo before those of entries
EPOLL = "anon_inode:[eventpoll]"
NO_MEMORY, NO_SPACE = 12, 28  # errors
# Calls that keep the files they wait for, by number, and which argument says how many those are, where it is not one:
# poll, ppoll, select, pselect6, restart_syscall (as poll), epoll_wait, epoll_pwait, epoll_pwait2, flock, fcntl. Reading
# and writing do, too, but no epoll, and one pipe for a thread, of which there are few.
ONE = -1
WAITING = {
    "x86_64": {7: 1, 271: 1, 23: 0, 270: 0, 219: 1, 232: ONE, 281: ONE, 441: ONE, 73: ONE, 72: ONE},
    "aarch64": {73: 1, 72: 0, 128: 1, 22: ONE, 441: ONE, 32: ONE, 25: ONE},
}.get(posix.uname().machine, {})
RESTART = 219, 128  # restart_syscall
RESTING = b"futex", b"hrtimer_nanosleep", b"do_nanosleep"  # also go on by it, and keep no files


def holds_in_kernel():
    """What there is too much of; 0 is nothing. It is counted no further than is too much."""
    kept, pipes, paths, sizes, entries, kernel = 0, set(), [], {}, 0, 0
    hiding.clear()
    for pid in guests():
        folder, names = descriptors_of(pid)
        for name in names:
            link = link_of(folder + "fd/" + name)
            if link.startswith("pipe:"):
                pipes.add(link)
            elif link == EPOLL:
                sizes[pid, name] = entries_of(folder + "fdinfo/" + name)
                entries += sizes[pid, name]
                if entries > ENTRIES:
                    return TOO_MANY_ENTRIES
            elif link.startswith("/"):
                kept += kept_by(pid, link)
                paths.append(folder + "fd/" + name)
                kernel += of_kernel(link) and type_of(paths[-1]) == REGULAR
                if kernel > KERNEL_FILES:
                    return TOO_MANY_KERNEL_FILES
    if kept > MAX_KEEPING:
        return TOO_MANY_KERNEL_FILES
    if len(paths) > FOLDERS and sum(type_of(path) == FOLDER for path in paths) > FOLDERS:
        return TOO_MANY_FOLDERS
    shut.update((kind, shut[kind] + 1 if kind in hiding else 0) for kind in shut)
    if shut["guest"] > 1 or shut["beside"] > PATIENCE:
        return UNREADABLE
    if len(pipes) > PIPES or lasts("pipes", len(pipes) > FEW_PIPES and pipes_used_up()):
        return TOO_MANY_PIPES
    return TOO_MANY_ENTRIES if too_many_entries(entries, sizes, waiting()) else 0


def lasts(what, now):
    """Whether it has been so at every look for that long."""
    if not now:
        since.pop(what, None)
        return False
    return monotonic() - since.setdefault(what, monotonic()) > USED_UP


since = {}


def waits_for_pipes():
    """Whether what threads wait for may be pipes without a descriptor, where the user's share of pipes is used up. It
    is asked before the guest is stopped, which has them let go of those."""
    files = waiting() if pipes_used_up() else 0
    return TOO_MANY_PIPES if lasts("waiting", files > FEW_PIPES) or files > PIPES else 0


def too_many_entries(entries, sizes, files):
    """As in quotas of package sandbox: what went away since the last look may be of epolls that threads wait for, of
    which no more are left than files that those wait for; and one that was never seen counts as the largest that was."""
    gone.extend(size - sizes.get(epoll, 0) for epoll, size in epolls.items() if size > sizes.get(epoll, 0))
    gone.sort(reverse=True)
    del gone[files:]
    epolls.clear()
    epolls.update(sizes)
    numbers["largest"] = max(numbers.get("largest", 0), *sizes.values(), 0)
    if entries + sum(gone) > ENTRIES or files * numbers["largest"] > HIDDEN:
        return True
    return lasts("entries", (entries > ENTRIES // 16 or files > FEW_PIPES) and entries_used_up())


epolls, gone = {}, []  # how many entries each had at the last look, and what is left of those that went away at most


def entries_of(path):
    """Each descriptor of an epoll counts: nothing tells which are of the same one."""
    in_time()
    try:
        with open(path, "rb") as lines:
            return sum(line.startswith(b"tfd:") for line in islice(lines, HEAD + ENTRIES + 1))
    except OSError as error:  # it has just been closed
        return ENTRIES + 1 if error.errno == NO_MEMORY else 0


def waiting():
    """How many files the guest's threads wait for at most. They keep those whose descriptors another thread has closed;
    a process of one thread can close none meanwhile."""
    now = {}
    for pid in guests():
        threads = threads_of(pid)
        if len(threads) > 1:
            now.update((thread, waits_for("/proc/%s/task/%s/" % (pid, thread), thread)) for thread in threads)
    waits.clear()
    waits.update(now)
    return sum(now.values())


waits = {}  # files that each thread waited for at the last look


def waits_for(folder, thread):
    """A running thread may have been woken for a moment only, so its last count is halved at each look instead of
    dropped. One that was stopped has let go of all."""
    in_time()
    try:
        words = start_of(folder + "syscall").split()
        if len(words) < 3:
            return waits.get(thread, 0) // 2
        call = int(words[0])
        if call not in WAITING:
            return 0
        place = start_of(folder + "wchan")
    except (OSError, ValueError):
        return 0  # it has just ended, or the kernel does not tell
    if place.startswith(b"do_signal_stop") or call in RESTART and place.startswith(RESTING):
        return 0
    if WAITING[call] == ONE:
        return 1
    return min(int(words[1 + WAITING[call]], 16) % 2**32, posix.sysconf("SC_OPEN_MAX"))


def start_of(path):
    with open(path, "rb", 0) as file:
        return file.read(PAGE)


def pipes_used_up():
    """Whether new pipes of this user are small, or there are none, for its quota of their pages is used up."""
    import fcntl

    get_size = 1032  # linux/fcntl.h
    try:
        ends = posix.pipe()
    except OSError:
        return True
    size = fcntl.fcntl(ends[0], get_size)
    for end in ends:
        posix.close(end)
    return size < 16 * posix.sysconf("SC_PAGE_SIZE")


def entries_used_up():
    """Whether this user can have no more entries of epolls."""
    import select

    with select.epoll() as epoll:
        try:
            epoll.register(0, 0)
        except OSError as error:
            return error.errno == NO_SPACE
    return False


def descriptors_of(pid):
    """The folder of a thread that lives, and the names of what it has: the first one may have ended before others."""
    for thread in threads_of(pid):
        folder = "/proc/%s/task/%s/" % (pid, thread)
        try:
            names = posix.listdir(folder + "fd")
        except PermissionError:
            note_shut(folder)
            continue
        except OSError:
            continue  # it has just ended
        if names:
            return folder, names
    return "", []


def note_shut(folder):
    """Note a thread whose descriptors cannot be read, for it executes a program that it may not read. One that just ends
    has no memory any more. What an engine starts beside the guest has fewer filters, and hides until it executes its
    program. The one that codemode starts in a pod has fewer than process 1, too: it hides for good."""
    try:
        memory, filters = filters_of(folder)
    except OSError:
        return  # it has just ended
    own = filters_of("/proc/1/")[1]
    if memory and filters >= own > 0:
        hiding.add("guest" if filters > own else "beside")


hiding = set()  # who does at this look
shut = {"guest": 0, "beside": 0}  # looks in a row at which one did, whichever: it may hand on what it has, and end


def filters_of(folder):
    """Whether a thread has memory, and how many system call filters (Linux 5.9)."""
    with open(folder + "status", "rb") as lines:
        told = dict(line.split(None, 1) for line in lines if line.startswith((b"VmPTE:", b"Seccomp_filters:")))
    return b"VmPTE:" in told, int(told.get(b"Seccomp_filters:", 0))


def link_of(path):
    in_time()
    try:
        return posix.readlink(path)
    except OSError:
        return ""  # it has just been closed


def kept_by(pid, link):
    """For how many of MAX_KEEPING a descriptor of that process counts. Of another mount of /proc, its link begins
    there."""
    of, *names = link.removesuffix(" (deleted)").removeprefix("/proc").lstrip("/").split("/")
    if not names:
        return int(of == "locks")
    if not of.isdigit():
        return 0
    if names[-1] in UNBOUNDED or names[-2:-1] == ["fdinfo"]:
        return 1
    if names[-1] not in KEEPING + MEMORY or of == pid or of in threads_of(pid):
        return 0
    return MAX_KEEPING + 1 if names[-1] in MEMORY else 1


def of_kernel(link):
    """Whether it is of a file that the kernel writes as it is read. Of another mount of /proc, its link begins there."""
    if not kernel_places:
        with open("/proc/self/mountinfo") as mounts:
            for line in mounts:
                before, _, kind = line.partition(" - ")
                if kind.split()[0] in KERNEL:
                    kernel_places.add(before.split()[4].rstrip("/") + "/")
    return link.startswith(tuple(kernel_places)) or link.split("/")[1].isdigit()


kernel_places = set()


def type_of(path):
    in_time()
    try:
        return posix.stat(path).st_mode >> 12
    except OSError:
        return 0  # it has just been closed
