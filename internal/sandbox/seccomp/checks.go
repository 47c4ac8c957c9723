package seccomp

import "slices"

// Errors a filter answers with; the same numbers on both architectures.
const (
	eperm   = 1
	eacces  = 13
	einval  = 22
	enosys  = 38
	enotsup = 95
)

// Constants of the checked arguments, the same on both architectures.
const (
	afUnix        = 1
	afInet        = 2
	afInet6       = 10
	afNetlink     = 16
	ipTCP         = 6
	ipUDP         = 17
	sockStream    = 1
	sockSeqpacket = 5
	sockType      = 0xf // the type without SOCK_CLOEXEC and SOCK_NONBLOCK

	msgOOB = 1

	solSocket         = 1
	perQuery          = 0xffffffff
	cloneFiles        = 0x00000400
	closeRangeUnshare = 0x2
	cloneThread       = 0x00010000
	cloneVM           = 0x00000100
	cloneVfork        = 0x00004000
	cloneNamespace    = 0x00020000 | 0x02000000 | 0x04000000 | 0x08000000 | 0x10000000 | 0x20000000 | 0x40000000
	cloneJudged       = cloneNamespace | cloneThread | cloneFiles | cloneVM | cloneVfork
	cloneProcess      = 0 // of cloneJudged: fork(2)

	tiocsti   = 0x5412
	tioclinux = 0x541c
	tioccons  = 0x541d
	tiocsetd  = 0x5423 // loads a module for a line discipline
	// TIOCSPTLCK and TIOCGPTPEER: without either nothing opens the other end of a new terminal, which would go on with
	// its first end closed, where nobody counts it.
	tiocsptlck  = 0x5431
	tiocgptpeer = 0x5441
	ficlone     = 0x40049409 // copies into a file that is open for writing
	ioctlCode   = 0xffff     // type and number
	ioctlType   = 0xff00
	terminals   = 0x5400 // the type of terminals' requests, and of FIONREAD, FIONBIO, FIOCLEX and FIONCLEX

	rlimitCore  = 4
	prioProcess = 0

	clockKind         = 7 // of a clock below zero; 0 to 2 are a process's, from 4 on a thread's
	clockOfDescriptor = 3

	renameWhiteout = 4

	futexPrivate = 128
	futexCommand = 0x7f

	fSetLease      = 1024
	fNotify        = 1026
	fSetRWHint     = 1036 // F_SET_RW_HINT and F_SET_FILE_RW_HINT are of the file, by a descriptor to read
	fSetFileRWHint = 1038

	setIDs     = 0o6000   // S_ISUID and S_ISGID
	makesFiles = 0x400040 // O_CREAT and the bit that is O_TMPFILE's own: only then is there a mode
	accessMode = 3        // O_ACCMODE; as a mode, for neither reading nor writing
	truncates  = 0x200    // O_TRUNC

	mapShared    = 0x01 // also a bit of MAP_SHARED_VALIDATE, and not of MAP_PRIVATE
	mapAnonymous = 0x20
	mapAtOnce    = 0x2000 | 0x8000 // MAP_LOCKED and MAP_POPULATE
	mapHuge      = 0x40000         // MAP_HUGETLB
	memfdHuge    = 4               // MFD_HUGETLB
)

// advices are what may be advised of memory, by madvise(2). Not among them are what takes much in one system call, of
// which no signal reaches the caller: huge pages, and page tables of a whole range (MADV_GUARD_INSTALL, for which C
// libraries have mprotect, too); and MADV_MERGEABLE, by which a process learns what is in the pages of others.
var advices = []uint32{
	0, 1, 2, 3, 4, // MADV_NORMAL, MADV_RANDOM, MADV_SEQUENTIAL, MADV_WILLNEED, MADV_DONTNEED
	8,          // MADV_FREE
	10, 11, 15, // MADV_DONTFORK, MADV_DOFORK, MADV_NOHUGEPAGE
	16, 17, 18, 19, // MADV_DONTDUMP, MADV_DODUMP, MADV_WIPEONFORK, MADV_KEEPONFORK
	20, 21, // MADV_COLD, MADV_PAGEOUT
}

// advicesTo are those of a guest, or of who has a limit that holds for one system call, too, or is no guest:
// MADV_REMOVE, MADV_HUGEPAGE, MADV_POPULATE_READ, MADV_POPULATE_WRITE and MADV_COLLAPSE as well.
func advicesTo(watched bool) []uint32 {
	if watched {
		return advices
	}
	return append(slices.Clip(advices), 9, 14, 22, 23, 25)
}

// prctls are the harmless options. PR_SET_PDEATHSIG must not be among them: without it a sandbox would outlive a
// codemode that is killed. Nor PR_SET_DUMPABLE (but see Options.Init), which hides a process's memory from the
// watchdog, nor PR_SET_THP_DISABLE, since that counts a page for each page fault, nor PR_SET_VMA, by which a mapping
// has a name that nobody counts, nor PR_SET_TIMERSLACK (see sandbox.TimerSlack).
var prctls = []uint32{
	2,  // PR_GET_PDEATHSIG
	3,  // PR_GET_DUMPABLE
	15, // PR_SET_NAME
	16, // PR_GET_NAME
	21, // PR_GET_SECCOMP
	23, // PR_CAPBSET_READ
	27, // PR_GET_SECUREBITS
	30, // PR_GET_TIMERSLACK
	36, // PR_SET_CHILD_SUBREAPER
	37, // PR_GET_CHILD_SUBREAPER
	39, // PR_GET_NO_NEW_PRIVS
	42, // PR_GET_THP_DISABLE
	66, // PR_GET_MDWE
}

// fcntls are what a guest may ask of a descriptor. Files of the cache belong to the user: a lease delays others that
// open them, a notification tells of them, and the owner of a descriptor gets its signals. The pages of pipes are
// counted for all that is the user's, so a pipe keeps the size it was made with. Locks of an open file (F_OFD_SETLK)
// are memory that no process has in its name.
var fcntls = []uint32{
	0, 1, 2, 3, 4, // F_DUPFD, F_GETFD, F_SETFD, F_GETFL, F_SETFL
	5, 6, 7, // F_GETLK, F_SETLK, F_SETLKW
	9, 11, // F_GETOWN, F_GETSIG
	1030, 1032, 1034, // F_DUPFD_CLOEXEC, F_GETPIPE_SZ, F_GET_SEALS
}

// programCalls are allowed to an ordinary program beyond what a guest may: to watch files, to make pipes with
// names, memory with a descriptor, and buffers of sockets of any size, and to pass descriptors. What reaches other
// processes, the kernel's settings or new namespaces is refused to both.
var programCalls = []string{
	"inotify_init", "inotify_init1", "inotify_add_watch", "inotify_rm_watch",
	"memfd_create", "mknod", "mknodat", "sendmsg", "sendmmsg",
}

// restricting is Landlock, for Options.Init, which has it hold the guest. A guest's rules would be memory that nobody
// counts.
var restricting = []string{"landlock_create_ruleset", "landlock_add_rule", "landlock_restrict_self"}

// initPrctls are those of Options.Init: PR_SET_DUMPABLE, PR_SET_SECCOMP and PR_SET_TIMERSLACK.
var initPrctls = []uint32{4, 22, 29}

func prctlsFor(opts Options) []uint32 {
	if opts.Init {
		return slices.Concat(prctls, initPrctls)
	}
	return prctls
}

// priorityInheritance are the futex operations by which threads inherit priorities: FUTEX_LOCK_PI, UNLOCK_PI,
// TRYLOCK_PI, WAIT_REQUEUE_PI, CMP_REQUEUE_PI and LOCK_PI2. A lock's wait with a limit is as exact as timers are. And
// of a number in memory they say whether a thread has it, whoever's. C libraries need them for mutexes with that
// protocol alone, which nothing of Python has.
var priorityInheritance = []uint32{6, 7, 8, 11, 12, 13}

// requeues are the futex operations FUTEX_REQUEUE, CMP_REQUEUE, WAIT_REQUEUE_PI and CMP_REQUEUE_PI. They move who
// waits by a word of a mapped file to another word, also if the file can only be read: programs of the user's would
// wait there for good. C libraries use them within a process.
var requeues = []uint32{3, 4, 11, 12}

// futexes have no operations of those that lack, and refuse requeues that are not of a process alone.
func futexes(lacks ...uint32) (body []Insn) {
	length := len(lacks) + len(requeues) + 8
	to := func(beforeEnd int) uint8 { return uint8(length - beforeEnd - len(body) - 1) }
	const allowed, refused, lacking = 3, 2, 1
	body = append(body, arg(1), and(futexCommand))
	for _, k := range lacks {
		body = append(body, jeq(k, to(lacking), 0))
	}
	body = append(body, arg(1))
	body = append(body, jset(futexPrivate, to(allowed), 0))
	body = append(body, and(futexCommand))
	for _, k := range requeues {
		body = append(body, jeq(k, to(refused), 0))
	}
	return append(body, ret(retAllow), ret(errno(eperm)), ret(errno(enosys)))
}

// programPrctls are allowed to an ordinary program beyond prctls. It may ask for a death signal: its own end is in the
// reaper's hands alone.
var programPrctls = []uint32{
	1,          // PR_SET_PDEATHSIG
	4,          // PR_SET_DUMPABLE
	38,         // PR_SET_NO_NEW_PRIVS
	0x53564d41, // PR_SET_VMA
}

// noSetIDs forbids an ordinary program to make set-user-ID and set-group-ID files: files in folders that it was
// given are seen outside, and belong to its user there.
func noSetIDs(p *program) {
	for name, mode := range changesMode {
		p.rule(name, setsID(mode)...)
	}
	for name, mode := range map[string]uint32{"mknod": 1, "mknodat": 2} {
		p.rule(name, setsID(mode)...)
	}
	noSetIDsOpened(p)
}

// Calls that give files a mode, and which argument that is; of open and openat, the argument behind the flags.
var (
	changesMode = map[string]uint32{"chmod": 1, "fchmod": 1, "fchmodat": 2, "fchmodat2": 2}
	opens       = map[string]uint32{"open": 1, "openat": 2}
)

// closedRules adds the rules for a guest that sees folders of its user's.
func closedRules(p *program) {
	for name, mode := range changesMode {
		p.rule(name, setsID(mode)...)
	}
	noSetIDsOpened(p)
	p.rule("socket", ret(errno(eacces)))
}

// noSetIDsOpened is noSetIDs for what opening a file makes. before is asked first, of the number of the argument with
// the flags.
func noSetIDsOpened(p *program, before ...func(flags uint32) []Insn) {
	p.rule("creat", setsID(1)...)
	for name, flags := range opens {
		var body []Insn
		for _, f := range before {
			body = append(body, f(flags)...)
		}
		p.rule(name, append(append(body, arg(flags), jset(makesFiles, 1, 0), ret(retAllow)), setsID(flags+1)...)...)
	}
	p.rule("openat2", ret(errno(enosys))) // its flags are behind a pointer, and everybody can do without it
}

// setsID refuses a mode that gives users away.
func setsID(mode uint32) []Insn {
	return []Insn{arg(mode), jset(setIDs, 0, 1), ret(errno(eperm)), ret(retAllow)}
}

// checks adds the rules for calls whose arguments decide. What is a rule twice is decided by the first.
func checks(p *program, opts Options) {
	allowed := prctlsFor(opts)
	if opts.Program {
		allowed = slices.Concat(prctls, programPrctls)
		programChecks(p)
	}
	if opts.OneSession {
		p.rule("setsid", ret(errno(eperm)))
	}
	memoryChecks(p, opts)
	if opts.Program {
		p.rule("fcntl", noneOf(1, eperm, fSetLease, fNotify, fSetRWHint, fSetFileRWHint)...)
		p.rule("ioctl", noneOf(1, eperm, tiocsti, tioclinux, tioccons)...)
	}
	neighbourChecks(p, opts)
	p.rule("fcntl", oneOf(1, eperm, fcntls...)...)
	socketChecks(p, opts)
	// A thread shares its process's descriptors, so that they are limited, and can be counted. No process shares
	// another's: what ends with a descriptor of it, as locks do, is seen at one. Nor does one share memory with another
	// that goes on meanwhile: it could hand all of it on and end, thousands of times a second, before it is looked at.
	p.rule(
		"clone", arg(0), and(cloneJudged),
		jeq(cloneProcess, 4, 0), jeq(cloneVfork, 3, 0), jeq(cloneVM|cloneVfork, 2, 0),
		jeq(cloneVM|cloneThread|cloneFiles, 1, 0), ret(errno(eperm)), ret(retAllow),
	)
	p.rule("close_range", arg(2), jset(closeRangeUnshare, 0, 1), ret(errno(eperm)), ret(retAllow))
	// The flags of clone3 are behind a pointer, which a filter cannot follow; C libraries fall back to clone.
	p.rule("clone3", ret(errno(enosys)))
	// A descriptor of a terminal must not become a keyboard. Other types than terminals' change a file's flags by a
	// descriptor that can only be read, and tell the name of a file system.
	p.rule("ioctl",
		arg(1), jeq(ficlone, 9, 0),
		and(ioctlCode), jeq(tiocsti, 8, 0), jeq(tioclinux, 7, 0), jeq(tioccons, 6, 0), jeq(tiocsetd, 5, 0),
		jeq(tiocsptlck, 4, 0), jeq(tiocgptpeer, 3, 0),
		and(ioctlType), jeq(terminals, 0, 2), ret(retAllow), ret(errno(eperm)), ret(errno(enotsup)))
	if opts.Program {
		p.rule("futex", futexes()...)
	}
	p.rule("futex", futexes(priorityInheritance...)...)
	for _, name := range restricting {
		if opts.Init {
			p.rule(name, ret(retAllow))
		}
		p.rule(name, ret(errno(enosys)))
	}
	// It takes as much memory at once as a file can have, before anybody can look. C libraries write instead.
	p.rule("fallocate", ret(errno(enotsup)))
	// It would leave a device in a folder of the user's.
	p.rule("renameat2", arg(4), jset(renameWhiteout, 0, 1), ret(errno(eperm)), ret(retAllow))
	p.rule("personality", oneOf(0, eperm, 0, perQuery)...)
	p.rule("prctl", oneOf(0, eperm, allowed...)...)
	p.rule("setrlimit", noneOf(0, eperm, rlimitCore)...)
	// One process does not limit another: with few descriptors, that which watches the guest could not.
	p.rule("prlimit64", append(
		coreKept(), arg(2), jeq(0, 0, 2), argHigh(2), jeq(0, 3, 0), // it only reads
		arg(0), jeq(0, 1, 0), ret(errno(eperm)), ret(retAllow),
	)...)
}

// programChecks adds the rules that a server in a sandbox has for itself.
func programChecks(p *program) {
	noSetIDs(p)
	p.rule("memfd_create", arg(1), jset(memfdHuge, 0, 1), ret(errno(eperm)), ret(retAllow))
	// The internet's families with TCP and UDP, of which its network namespace may leave it nothing, and the
	// kernel's list of interfaces (NETLINK_ROUTE, 0). No other: AF_VSOCK reaches the hypervisor from any namespace.
	unix := connected(sockStream, sockSeqpacket)
	p.rule("socket", append([]Insn{
		arg(0), jeq(afUnix, 11, 0), jeq(afInet, 4, 0), jeq(afInet6, 3, 0), jeq(afNetlink, 0, 6),
		arg(2), jeq(0, 5, 4),
		arg(2), jeq(0, 3, 0), jeq(ipTCP, 2, 0), jeq(ipUDP, 1, 0),
		ret(errno(eacces)), ret(retAllow),
	}, unix...)...)
	p.rule("socketpair", append([]Insn{arg(0), jeq(afUnix, 1, 0), ret(errno(eacces))}, unix...)...)
}

// memoryChecks adds the rules that keep a watchdog's figures of memory true.
func memoryChecks(p *program, opts Options) {
	if !opts.Watched || opts.Program {
		// Pages that the machine has put aside for somebody else are in no limit of memory, a cgroup's neither.
		p.rule("mmap", arg(3), jset(mapHuge, 0, 1), ret(errno(eperm)), ret(retAllow))
		p.rule("madvise", oneOf(2, einval, advicesTo(false)...)...)
		return
	}
	// Shared memory stays when its pages are unmapped: it is then in no process's figures. And nobody who takes
	// much in one system call can be stopped meanwhile.
	p.rule(
		"mmap", arg(3), jset(mapAtOnce|mapHuge, 2, 0), jset(mapAnonymous, 0, 2), jset(mapShared, 0, 1),
		ret(errno(eperm)), ret(retAllow),
	)
	p.rule("madvise", oneOf(2, einval, advicesTo(true)...)...)
}

// socketFilters are the options of SOL_SOCKET that take of the little room that the machine has for compiled filters:
// SO_ATTACH_FILTER, SO_ATTACH_BPF, SO_ATTACH_REUSEPORT_CBPF and SO_ATTACH_REUSEPORT_EBPF.
var socketFilters = []uint32{26, 50, 51, 52}

// socketOptions are the options of SOL_SOCKET that a guest may set. Of the others, buffers hold memory outside every
// rlimit, and there are socketFilters.
var socketOptions = []uint32{
	2,      // SO_REUSEADDR
	6,      // SO_BROADCAST
	9,      // SO_KEEPALIVE
	10,     // SO_OOBINLINE
	13,     // SO_LINGER
	15,     // SO_REUSEPORT
	16,     // SO_PASSCRED
	18,     // SO_RCVLOWAT
	20, 66, // SO_RCVTIMEO
	21, 67, // SO_SNDTIMEO
}

// socketChecks adds the rules of sockets: their families, and the room they hold.
func socketChecks(p *program, opts Options) {
	// Unix sockets alone: asyncio and multiprocessing need them, and no other family stays inside the
	// network namespace for certain (AF_VSOCK reaches the hypervisor).
	for _, name := range []string{"socket", "socketpair"} {
		p.rule(name, append([]Insn{arg(0), jeq(afUnix, 1, 0), ret(errno(eacces))}, connected(sockStream)...)...)
	}
	options := oneOf(2, eperm, socketOptions...)
	if opts.Program {
		options = noneOf(2, eperm, socketFilters...)
	}
	p.rule("setsockopt", append([]Insn{arg(1), jeq(solSocket, 1, 0), ret(retAllow)}, options...)...)
	if opts.Program {
		p.rule("sendto", ret(retAllow))
	}
	p.rule("sendto", append(noUrgentData(), ret(retAllow))...)
}

// connected allows Unix sockets of these kinds, none of them of datagrams: what was sent in those stays in memory when
// the sender has closed its socket, where nobody counts it, and a pair of them could be connected to others.
func connected(kinds ...uint32) []Insn {
	body := oneOf(1, eacces, kinds...)
	return append([]Insn{body[0], and(sockType)}, body[1:]...)
}

// noUrgentData refuses MSG_OOB, which nobody uses on Unix sockets and kernels had mistakes in, and falls through for
// all else.
func noUrgentData() []Insn { return []Insn{arg(3), jset(msgOOB, 0, 1), ret(errno(enotsup))} }

// coreKept refuses to change RLIMIT_CORE, and falls through for all else: at 1, the one value at which a handler of
// core dumps gets none (core(5)), it must stay.
func coreKept() []Insn {
	return []Insn{
		arg(1), jeq(rlimitCore, 0, 5),
		arg(2), jeq(0, 0, 2), argHigh(2), jeq(0, 1, 0), ret(errno(eperm)),
	}
}

// aloneRules adds the rules for a guest without namespaces: there is no pid, mount, network or IPC
// namespace, and Landlock mediates neither metadata nor, before ABI 9, connecting to path sockets.
func aloneRules(p *program, pid uint32) {
	for _, name := range []string{
		"fork", "vfork", // one process: nothing survives it, and its limits are the sandbox's
		"tkill", "rt_sigqueueinfo", "pidfd_open", "pidfd_send_signal", "setpriority", "setpgid", "setsid",
		"chmod", "fchmod", "fchmodat", "fchmodat2", "chown", "fchown", "lchown", "fchownat",
		"utime", "utimes", "utimensat", "futimesat",
		"truncate", // Landlock sees it from ABI 3 on
	} {
		p.rule(name, ret(errno(eperm)))
	}
	for _, name := range []string{ // of the user's files, what is there may say where each is from
		"removexattr", "lremovexattr", "fremovexattr",
		"getxattr", "lgetxattr", "fgetxattr", "listxattr", "llistxattr", "flistxattr",
	} {
		p.rule(name, ret(errno(enotsup)))
	}
	noSetIDsOpened(p, onlyToRead)
	for _, name := range []string{"socket", "connect", "bind", "listen", "accept", "accept4"} {
		p.rule(name, ret(errno(eacces)))
	}
	p.rule("clone", arg(0), jset(cloneThread, 0, 1), jset(cloneFiles, 1, 0), ret(errno(eperm)), ret(retAllow))
	p.rule("sendto", append(
		noUrgentData(), arg(4), jeq(0, 0, 3), argHigh(4), jeq(0, 0, 1), ret(retAllow), ret(errno(eacces)),
	)...)
	for _, name := range []string{"kill", "tgkill", "rt_tgsigqueueinfo"} {
		p.rule(name, oneOf(0, eperm, pid)...)
	}
	p.rule("prlimit64", append(coreKept(), oneOf(0, eperm, 0, pid)...)...)
	nothingOfOthers(p, pid)
}

// nothingOfOthers refuses what tells of any process of the machine, by its number: that it is there, and when it runs.
func nothingOfOthers(p *program, pid uint32) {
	for _, name := range []string{"getpgid", "getsid", "sched_getscheduler", "sched_getparam", "get_robust_list"} {
		p.rule(name, oneOf(0, eperm, 0, pid)...)
	}
	// Of a thread, a C library asks it for where its stack is, and does without where there is no such call.
	p.rule("sched_getaffinity", oneOf(0, enosys, 0, pid)...)
	p.rule("getpriority", append(ofProcess(), oneOf(1, eperm, 0, pid)...)...)
	p.rule("capget", ret(errno(eperm))) // the number is behind a pointer
	// A clock below zero is of a process, but for those of a descriptor and those of threads, which are its own.
	for _, name := range []string{"clock_gettime", "clock_getres", "clock_nanosleep"} {
		p.rule(name,
			arg(0), jset(1<<31, 0, 3), and(clockKind), jge(clockOfDescriptor, 1, 0), ret(errno(einval)), ret(retAllow))
	}
}

// onlyToRead refuses to open a file so that Landlock would not look: to read and truncate it (before ABI 3), or for
// neither reading nor writing, which takes no right of Landlock's.
func onlyToRead(flags uint32) []Insn {
	return []Insn{
		arg(flags), and(accessMode | truncates),
		jeq(truncates, 2, 0), jeq(accessMode, 1, 0), jeq(accessMode|truncates, 0, 1), ret(errno(eperm)),
	}
}

// oneOf allows a call when the low half of argument i is one of ks, else it fails with e.
func oneOf(i, e uint32, ks ...uint32) []Insn {
	return match(i, errno(e), retAllow, ks)
}

// noneOf is the opposite of oneOf.
func noneOf(i, e uint32, ks ...uint32) []Insn {
	return match(i, retAllow, errno(e), ks)
}

func match(i, other, found uint32, ks []uint32) []Insn {
	body := []Insn{arg(i)}
	for n, k := range ks {
		body = append(body, jeq(k, uint8(len(ks)-n), 0))
	}
	return append(body, ret(other), ret(found))
}
