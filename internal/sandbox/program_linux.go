package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"codemode/internal/proc"
	"codemode/internal/sandbox/stage2"

	"golang.org/x/sys/unix"
)

const (
	// programGrace is what a program gets between the end of its input and SIGKILL when codemode has died: as much as
	// proc's guard gives.
	programGrace = time.Second

	programFiles   = 2048 // as many can be in flight, of which the kernel lets a user have as many as its limit
	programSignals = 1024 // pending ones and POSIX timers, which the kernel counts for the whole user
)

// Starter returns what starts a program within restrictions.
func (p *Programs) Starter(restrictions Restrictions) proc.Starter {
	return func(ctx context.Context, spec proc.Spec, streams [3]*os.File) (proc.Family, error) {
		sb, err := p.start(ctx, spec, restrictions, streams)
		if err != nil {
			return nil, withoutReduced(err)
		}
		return &program{sb, restrictions}, nil
	}
}

func (p *Programs) start(
	ctx context.Context, spec proc.Spec, restrictions Restrictions, streams [3]*os.File,
) (*nativeSandbox, error) {
	v, err := p.view(spec, restrictions)
	if err != nil {
		return nil, err
	}
	policy := Policy{
		Memory: restrictions.memory(), Processes: ProgramProcesses, OpenFiles: programFiles,
		Isolation: IsolationFull, AllowGaps: []string{"pids"}, // of which an old kernel has none
	}
	sb, err := p.native.attempt(ctx, policy, func(e Enforcement) (*nativeSandbox, error) {
		l := &launch{policy: policy, enforced: e, view: v}
		if e.Method == methodBwrap && l.givesUpRoot() {
			return nil, errBwrapAsRoot
		}
		return p.native.launch(ctx, l, func() (*stdio, error) { return copied(streams) })
	})
	if err != nil {
		return nil, err
	}
	p.native.log.DebugContext(
		ctx, "program started in a sandbox", "pid", sb.pid, "method", sb.enforced.Method,
		"network", restrictions.Network,
	)
	return sb, nil
}

// copied are descriptors of an attempt's own: it closes them, and another may follow.
func copied(streams [3]*os.File) (*stdio, error) {
	var s stdio
	for i, f := range streams {
		fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 3)
		if err != nil {
			s.closeGuest()
			return nil, fmt.Errorf("starting a sandbox: %w", err)
		}
		s.guest[i] = os.NewFile(uintptr(fd), f.Name())
	}
	return &s, nil
}

var errBwrapAsRoot = errors.New("bubblewrap cannot show root's files to a program that is not root")

func (w Restrictions) memory() int64 {
	if w.Memory > 0 {
		return w.Memory
	}
	return DefaultProgramMemory
}

// withoutReduced drops the advice that is for guests alone: a program has no reduced sandbox.
func withoutReduced(err error) error {
	var e *UnavailableError
	if !errors.As(err, &e) {
		return err
	}
	e.Remedy = slices.DeleteFunc(slices.Clone(e.Remedy), func(s string) bool { return strings.Contains(s, "reduced") })
	return err
}

// programLimits are the rlimits of a program: it is no guest, whose stack and locked memory are counted.
func programLimits(p Policy, e Enforcement) []stage2.Limit {
	limits := []stage2.Limit{
		{Name: "nofile", Resource: unix.RLIMIT_NOFILE, Cur: uint64(p.OpenFiles), Max: uint64(p.OpenFiles)},
		{Name: "sigpending", Resource: unix.RLIMIT_SIGPENDING, Cur: programSignals, Max: programSignals},
	}
	if e.Pids == meansRlimit {
		limits = append(
			limits,
			stage2.Limit{
				Name: "nproc", Resource: unix.RLIMIT_NPROC, Cur: uint64(p.Processes), Max: uint64(p.Processes),
			},
		)
	}
	return limits
}

// program is a running program as package proc sees it: its first process, and all of its pid namespace.
type program struct {
	sandbox      *nativeSandbox
	restrictions Restrictions
}

func (p *program) Pid() int  { return p.sandbox.first() }
func (p *program) Root() int { return p.sandbox.first() }

// Wait returns when no process of the program is left.
func (p *program) Wait() error {
	<-p.sandbox.Done()
	exit := p.sandbox.Exit()
	e := &proc.ExitError{Code: exit.Code, Signal: syscall.Signal(exit.Signal)}
	switch {
	case exit.Cause == ExitMemory:
		e.Reason = fmt.Sprintf(
			"killed in its sandbox, for it used more than %d MiB of memory (sandbox_memory)", p.restrictions.memory()>>20,
		)
	case exit.Cause == ExitKernelFiles:
		e.Reason = fmt.Sprintf(
			"killed in its sandbox, for it had more than %d files of /proc and /sys open", MaxKernelFiles,
		)
	case e.Code == 0 && e.Signal == 0:
		return nil
	}
	return e
}

// Terminate sends SIGTERM. The first process of a pid namespace does not die of a signal that it has no handler for:
// such a one is killed.
func (p *program) Terminate() {
	if catches(p.sandbox.first(), unix.SIGTERM) {
		p.sandbox.signal(unix.SIGTERM)
	} else {
		p.sandbox.signal(unix.SIGKILL)
	}
}

func (p *program) Kill()    { p.sandbox.Kill() }
func (p *program) Abandon() { p.sandbox.Kill() }
func (p *program) Close()   { _ = p.sandbox.Close() }

// catches tells whether a process has a handler for a signal.
func catches(pid int, sig syscall.Signal) bool {
	status, err := os.ReadFile(procFile(pid, "status"))
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(status)) {
		if mask, ok := strings.CutPrefix(line, "SigCgt:"); ok {
			caught, err := strconv.ParseUint(strings.TrimSpace(mask), 16, 64)
			return err == nil && caught&(1<<(sig-1)) != 0
		}
	}
	return false
}
