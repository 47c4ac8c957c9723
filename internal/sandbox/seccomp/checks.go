package seccomp

import "slices"

// Errors a filter answers with; the same numbers on both architectures.
const (
	eperm  = 1
	eacces = 13
	enosys = 38
)

// Constants of the checked arguments, the same on both architectures.
const (
	afUnix     = 1
	afInet     = 2
	afInet6    = 10
	afNetlink  = 16
	ipTCP      = 6
	ipUDP      = 17
	sockStream = 1
	sockType   = 0xf // the type without SOCK_CLOEXEC and SOCK_NONBLOCK

	solSocket      = 1
	soSndbuf       = 7
	soRcvbuf       = 8
	soSndbufForce  = 32
	soRcvbufForce  = 33
	perQuery       = 0xffffffff
	cloneThread    = 0x00010000
	cloneNamespace = 0x00020000 | 0x02000000 | 0x04000000 | 0x08000000 | 0x10000000 | 0x20000000 | 0x40000000

	tiocsti   = 0x5412
	tioclinux = 0x541c
	tioccons  = 0x541d
	fiosetown = 0x8901
	siocspgrp = 0x8902

	fSetOwn   = 8
	fSetSig   = 10
	fSetOwnEx = 15
	fSetLease = 1024
	fNotify   = 1026

	setIDs     = 0o6000   // S_ISUID and S_ISGID
	makesFiles = 0x400040 // O_CREAT and the bit that is O_TMPFILE's own: only then is there a mode

	mapShared    = 0x01 // also a bit of MAP_SHARED_VALIDATE, and not of MAP_PRIVATE
	mapAnonymous = 0x20
)

// prctls are the harmless options. PR_SET_PDEATHSIG must not be among them: without it a sandbox
// would outlive a codemode that is killed. Nor PR_SET_DUMPABLE, which hides a process's memory from the
// watchdog.
var prctls = []uint32{
	2,          // PR_GET_PDEATHSIG
	3,          // PR_GET_DUMPABLE
	15,         // PR_SET_NAME
	16,         // PR_GET_NAME
	21,         // PR_GET_SECCOMP
	23,         // PR_CAPBSET_READ
	27,         // PR_GET_SECUREBITS
	29,         // PR_SET_TIMERSLACK
	30,         // PR_GET_TIMERSLACK
	36,         // PR_SET_CHILD_SUBREAPER
	37,         // PR_GET_CHILD_SUBREAPER
	39,         // PR_GET_NO_NEW_PRIVS
	41,         // PR_SET_THP_DISABLE
	42,         // PR_GET_THP_DISABLE
	66,         // PR_GET_MDWE
	0x53564d41, // PR_SET_VMA
}

// programCalls are allowed to an ordinary program beyond what a guest may: to watch files, to make pipes with
// names, memory with a descriptor, and buffers of sockets of any size. What reaches other processes, the kernel's settings
// or new namespaces is refused to both.
var programCalls = []string{
	"inotify_init", "inotify_init1", "inotify_add_watch", "inotify_rm_watch",
	"memfd_create", "mknod", "mknodat", "setsockopt",
}

// programPrctls are allowed to an ordinary program beyond prctls. It may ask for a death signal: its own end is in the
// warden's hands alone.
var programPrctls = []uint32{
	1,  // PR_SET_PDEATHSIG
	4,  // PR_SET_DUMPABLE
	38, // PR_SET_NO_NEW_PRIVS
}

// noSetIDs lets an ordinary program make no file that gives its users to who executes it: files in folders that it was given
// are seen outside, and are its user's there.
func noSetIDs(p *program) {
	for name, mode := range map[string]uint32{"chmod": 1, "fchmod": 1, "fchmodat": 2, "fchmodat2": 2, "creat": 1, "mknod": 1, "mknodat": 2} {
		p.rule(name, arg(mode), jset(setIDs, 0, 1), ret(errno(eperm)), ret(retAllow))
	}
	for name, flags := range map[string]uint32{"open": 1, "openat": 2} {
		p.rule(name, arg(flags), jset(makesFiles, 0, 3), arg(flags+1), jset(setIDs, 0, 1), ret(errno(eperm)), ret(retAllow))
	}
	p.rule("openat2", ret(errno(enosys))) // its mode is behind a pointer, and everybody can do without it
}

// checks adds the rules for calls whose arguments decide.
func checks(p *program, opts Options) {
	allowed := prctls
	if opts.Program { // what is a rule twice is decided by the first
		allowed = slices.Concat(prctls, programPrctls)
		noSetIDs(p)
		// The internet's families with TCP and UDP, of which its network namespace may leave it nothing, and the kernel's list of
		// interfaces (NETLINK_ROUTE, 0). No other: AF_VSOCK reaches the hypervisor from any namespace.
		p.rule("socket",
			arg(0), jeq(afUnix, 10, 0), jeq(afInet, 4, 0), jeq(afInet6, 3, 0), jeq(afNetlink, 0, 6),
			arg(2), jeq(0, 5, 4),
			arg(2), jeq(0, 3, 0), jeq(ipTCP, 2, 0), jeq(ipUDP, 1, 0),
			ret(errno(eacces)), ret(retAllow))
	}
	if opts.Watched && !opts.Program {
		// Such memory stays when its pages are unmapped: it is then in no process's figures.
		p.rule("mmap", arg(3), jset(mapAnonymous, 0, 2), jset(mapShared, 0, 1), ret(errno(eperm)), ret(retAllow))
	} else {
		p.rule("mmap", ret(retAllow))
	}
	// Files of the cache belong to the user: a lease stops who else opens them, and a notice tells who does.
	p.rule("fcntl", noneOf(1, eperm, fSetLease, fNotify)...)
	// Unix sockets alone: asyncio and multiprocessing need them, and no other family stays inside the
	// network namespace for certain (AF_VSOCK reaches the hypervisor).
	for _, name := range []string{"socket", "socketpair"} {
		p.rule(name, oneOf(0, eacces, afUnix)...)
	}
	if !opts.Program {
		// Memory held in socket buffers is outside every rlimit.
		p.rule("setsockopt",
			arg(1), jeq(solSocket, 0, 5),
			arg(2), jeq(soSndbuf, 4, 0), jeq(soRcvbuf, 3, 0), jeq(soSndbufForce, 2, 0), jeq(soRcvbufForce, 1, 0),
			ret(retAllow), ret(errno(eperm)))
	}
	p.rule("clone", arg(0), jset(cloneNamespace, 0, 1), ret(errno(eperm)), ret(retAllow))
	// The flags of clone3 are behind a pointer, which a filter cannot follow; C libraries fall back to clone.
	p.rule("clone3", ret(errno(enosys)))
	// A descriptor of a terminal must not become a keyboard.
	p.rule("ioctl", noneOf(1, eperm, tiocsti, tioclinux, tioccons)...)
	p.rule("personality", oneOf(0, eperm, 0, perQuery)...)
	p.rule("prctl", oneOf(0, eperm, allowed...)...)
}

// aloneRules adds the rules for a guest without namespaces: there is no pid, mount, network or IPC
// namespace, and Landlock mediates neither metadata nor, before ABI 9, connecting to path sockets.
func aloneRules(p *program, pid uint32) {
	for _, name := range []string{
		"fork", "vfork", // one process: nothing survives it, and its limits are the sandbox's
		"tkill", "rt_sigqueueinfo", "pidfd_open", "pidfd_send_signal", "setpriority", "setpgid", "setsid",
		"chmod", "fchmodat", "fchmodat2", "chown", "fchown", "lchown", "fchownat",
		"utime", "utimes", "utimensat", "futimesat",
		"setxattr", "lsetxattr", "fsetxattr", "removexattr", "lremovexattr", "fremovexattr",
		"sendmsg", "sendmmsg", // their addresses are behind a pointer
	} {
		p.rule(name, ret(errno(eperm)))
	}
	for _, name := range []string{"socket", "connect", "bind", "listen", "accept", "accept4"} {
		p.rule(name, ret(errno(eacces)))
	}
	p.rule("clone", arg(0), jset(cloneThread, 0, 1), ret(retAllow), ret(errno(eperm)))
	p.rule("socketpair",
		arg(0), jeq(afUnix, 0, 4),
		arg(1), and(sockType), jeq(sockStream, 0, 1), ret(retAllow), ret(errno(eacces)))
	p.rule("sendto", arg(4), jeq(0, 0, 3), argHigh(4), jeq(0, 0, 1), ret(retAllow), ret(errno(eacces)))
	for _, name := range []string{"kill", "tgkill", "rt_tgsigqueueinfo"} {
		p.rule(name, oneOf(0, eperm, pid)...)
	}
	for _, name := range []string{"prlimit64", "sched_setaffinity"} {
		p.rule(name, oneOf(0, eperm, 0, pid)...)
	}
	// An owner of a descriptor gets its SIGIO: a signal to anybody.
	p.rule("fcntl", noneOf(1, eperm, fSetOwn, fSetSig, fSetOwnEx, fSetLease, fNotify)...)
	p.rule("ioctl", noneOf(1, eperm, fiosetown, siocspgrp, tiocsti, tioclinux, tioccons)...)
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
