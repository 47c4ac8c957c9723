package seccomp

// moves has a thread of the kernel, which goes before all others, take who makes it to another processor: 60 processes
// that went to and fro held up the machine for seconds. To a guest it says that it has worked.
const moves = "sched_setaffinity"

// writesOut has the disk be given what others have written, too, and all of the machine wait for that. Who calls
// sync(2) is told of no error.
var writesOut = []string{"sync", "syncfs"}

// writesFile has the disk be given one file, which need not be open to be written, and a part of what others have
// written with it. For a guest that can write to no file of its user's they have nothing to do, and say so: what it
// writes is in memory.
var writesFile = []string{"fsync", "fdatasync", "sync_file_range", "msync"}

// timers fire to the microsecond, whatever a guest's timer slack (see sandbox.TimerSlack), and no argument tells how
// often: those of 55 processes held up others for seconds. So do waits with a limit by futex_waitv and by
// priorityInheritance; all others go by the slack (Linux 6.18, 2026-11-29). A timer of timer_create could also send
// SIGCONT, with which a process that a watchdog has stopped goes on while it is counted. Programs do without; that of
// setitimer in real time (the guest's Python has another, in codemode_guest/timers.py) is refused with them. Where
// there is alarm(2), it counts seconds.
var timers = []string{"timer_create", "timerfd_create", "futex_waitv"}

// cpuTimers are setitimer's of processor time: ITIMER_VIRTUAL and ITIMER_PROF.
var cpuTimers = []uint32{1, 2}

// ofProcess refuses a priority that is not one process's, and falls through for all else.
func ofProcess() []Insn { return []Insn{arg(0), jeq(prioProcess, 1, 0), ret(errno(eperm))} }

// initPID is the process of Options.Init.
const initPID = 1

// neighbourChecks adds the rules of calls by which all of the machine waits, or who watches the guest.
func neighbourChecks(p *program, opts Options) {
	for _, name := range writesOut {
		if opts.Program {
			p.rule(name, ret(retAllow))
		}
		p.rule(name, ret(errno(eperm)))
	}
	for _, name := range writesFile {
		if opts.Program || opts.Writes {
			p.rule(name, ret(retAllow))
		}
		p.rule(name, ret(errno(0)))
	}
	for _, name := range timers {
		if opts.Program {
			p.rule(name, ret(retAllow))
		}
		p.rule(name, ret(errno(enosys)))
	}
	if opts.Program {
		p.rule("setitimer", ret(retAllow))
		p.rule(moves, ret(retAllow))
	}
	p.rule("setitimer", oneOf(0, enosys, cpuTimers...)...)
	p.rule(moves, ret(errno(0)))
	switch {
	case opts.Program:
		p.rule("setpriority", ret(retAllow))
	case opts.Init:
		p.rule("setpriority", append(ofProcess(), noneOf(1, eperm, initPID)...)...)
	}
	p.rule("setpriority", append(ofProcess(), ret(retAllow))...)
}
