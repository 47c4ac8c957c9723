package sandbox

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"

	"codemode/internal/sandbox/seccomp"
	"codemode/internal/sandbox/stage2"

	"golang.org/x/sys/unix"
)

// bootArg is what the guest is told: its channel, and the pipes of its own output.
const bootArg = "fd:3:4:5"

// A launch is a sandbox being started: what the methods prepare, and how to undo it.
type launch struct {
	policy   Policy
	enforced Enforcement
	view     view

	cmd    *exec.Cmd
	config stage2.Config
	extra  []*os.File // descriptors from stage2.FirstFD on, for bubblewrap; closed once the child has them
	sent   []*os.File // mount trees, sent with the configuration; closed likewise
	undo   *cleanup   // run after the sandbox's end, or when there is none
	site   []string   // site-packages as the guest sees them
	layers string     // python.Interpreter's, likewise
	alone  bool       // the guest has no namespaces
	shift  []shifted  // ID-mapped mounts: what is root's in them is the sandbox user's
	info   *os.File   // where bubblewrap says who its child is; nil without bubblewrap
}

// cleanup is a stack of things to undo.
type cleanup []func()

func (c *cleanup) add(f func()) { *c = append(*c, f) }

func (c *cleanup) run() {
	for len(*c) > 0 {
		last := len(*c) - 1
		f := (*c)[last]
		*c = (*c)[:last]
		f()
	}
}

// pass hands bubblewrap a descriptor, and returns its number there.
func (l *launch) pass(f *os.File) int {
	l.extra = append(l.extra, f)
	return stage2.FirstFD + len(l.extra) - 1
}

// launch starts a guest or a program by the method in l.enforced. An error leaves nothing behind.
func (n *native) launch(ctx context.Context, l *launch, open func() (*stdio, error)) (_ *nativeSandbox, err error) {
	s := &nativeSandbox{enforced: l.enforced, settled: make(chan struct{}), done: make(chan struct{})}
	l.undo = &s.undo
	defer func() {
		closeFiles(l.extra...)
		closeFiles(l.sent...)
		if err != nil {
			s.free()
		}
	}()
	if err := l.prepare(); err != nil {
		return nil, err
	}
	s.site, s.layers = l.site, l.layers
	if s.group, err = n.groups.limit(l); err != nil {
		return nil, err
	}
	pipes, err := open()
	if err != nil {
		return nil, err
	}
	s.channel, s.tails, s.input = pipes.channel, pipes.tails, pipes.input
	defer pipes.closeGuest()
	l.cmd.Stdin, l.cmd.Stdout, l.cmd.Stderr = pipes.guest[0], pipes.guest[1], pipes.guest[2]
	stage, err := n.stage(l)
	if err != nil {
		return nil, err
	}
	err = s.start(ctx, l, pipes, stage)
	return s, err
}

// prepare fills in the command and the configuration of the second stage.
func (l *launch) prepare() error {
	if l.enforced.Memory == meansWatchdog {
		l.view.fit(l.policy.Memory)
	}
	v := l.view
	l.config = stage2.Config{
		Path:       v.path,
		Argv:       v.argv,
		Env:        stage2.ToBytes(v.env...),
		Dir:        v.dir,
		Keep:       v.keep,
		Limits:     guestLimits(l.policy, l.enforced),
		Landlock:   v.landlock(),
		SmallPages: l.enforced.Memory == meansWatchdog,
		TimerSlack: uintptr(TimerSlack),
	}
	if v.program {
		l.config.Limits = programLimits(l.policy, l.enforced)
	}
	switch l.enforced.Method {
	case methodUserns:
		return l.prepareUserns()
	case methodBwrap:
		return l.prepareBwrap()
	case methodNone:
		return l.prepareReduced()
	}
	return fmt.Errorf("starting a sandbox: unknown method %q", l.enforced.Method)
}

// encode finishes the configuration, when the guest's pid is known.
func (l *launch) encode(pid int) ([]byte, error) {
	opts := seccomp.Options{
		Watched: l.enforced.Memory == meansWatchdog, OneSession: !l.view.program, Program: l.view.program,
		Closed: l.view.closed, Writes: l.view.writes,
	}
	if l.alone {
		opts.Alone = uint32(pid)
	}
	filter, err := seccomp.Filter(runtime.GOARCH, opts)
	var ask []seccomp.Insn
	if err == nil && l.enforced.Pids == meansSeccomp {
		ask, err = seccomp.AskThreads(runtime.GOARCH)
	}
	if err != nil {
		return nil, &UnavailableError{
			Runtime: nativeName, Code: "architecture", Step: "building the system call filter", Err: err,
		}
	}
	l.config.Filter, l.config.AskThreads = seccomp.Encode(filter), seccomp.Encode(ask)
	return json.Marshal(l.config)
}

// minData is what the Go runtime of the second stage may need of its own under the guest's limits.
const minData = 512 << 20

// guestLimits are the rlimits of the guest.
func guestLimits(p Policy, e Enforcement) []stage2.Limit {
	stack := uint64(p.MaxStack(e.Memory == meansWatchdog))
	limits := []stage2.Limit{
		{Name: "msgqueue", Resource: unix.RLIMIT_MSGQUEUE},
		{Name: "memlock", Resource: unix.RLIMIT_MEMLOCK, Cur: 64 << 10, Max: 64 << 10},
		{Name: "sigpending", Resource: unix.RLIMIT_SIGPENDING, Cur: 128, Max: 128},
		{Name: "stack", Resource: unix.RLIMIT_STACK, Cur: min(UsualStack, stack), Max: stack},
	}
	add := func(name string, resource int, n int64) {
		if n > 0 {
			limits = append(limits, stage2.Limit{Name: name, Resource: resource, Cur: uint64(n), Max: uint64(n)})
		}
	}
	add("fsize", unix.RLIMIT_FSIZE, p.FileSize)
	add("nofile", unix.RLIMIT_NOFILE, int64(p.OpenFiles))
	if e.Memory == meansWatchdog && p.Memory > 0 {
		// For a program that asks for far too much at once, which no watchdog is fast enough for. It
		// counts address space, touched or not, so it is wider than the limit. RLIMIT_AS would count
		// what is only reserved, too: at 512 MB glibc's arenas leave 14 threads and 1 MB of heap.
		add("data", unix.RLIMIT_DATA, max(2*p.Memory, minData))
	}
	if e.Pids == meansRlimit {
		add("nproc", unix.RLIMIT_NPROC, int64(p.Processes))
	}
	return limits
}

// start has a second stage become the guest or program of l. The caller frees s when it fails.
func (s *nativeSandbox) start(ctx context.Context, l *launch, pipes *stdio, stage *stage) error {
	defer stage.forget()
	s.pid, s.process = stage.cmd.Process.Pid, stage.cmd.Process
	s.tasks.Go(func() {
		<-stage.ended
		<-s.settled
		s.ended(stage.cmd.ProcessState)
	})
	closeFiles(l.extra...) // so that the end of each is seen
	stop := context.AfterFunc(ctx, s.Kill)
	err := l.shiftOwners(s.pid)
	if err == nil {
		err = s.begin(l, pipes, stage)
	}
	if err == nil && l.view.out {
		err = s.holdWork(l)
	}
	if !stop() {
		err = fmt.Errorf("starting a sandbox: %w", context.Cause(ctx))
	}
	if err == nil {
		s.watch(l)
	}
	close(s.settled)
	if err != nil {
		s.Kill()
		<-s.done
		return diagnoseStage2(l, err, s.exit.Stderr)
	}
	return nil
}

// begin starts the reaper of the second stage's process, and lets it execute the guest.
func (s *nativeSandbox) begin(l *launch, pipes *stdio, stage *stage) error {
	if l.info != nil { // who the guest is, is not known before
		err := s.handshake(l, pipes, stage)
		return cmp.Or(err, s.guardInner(l.view.grace))
	}
	if l.view.grace > 0 { // it may ignore its death signal
		if err := s.guard(stage.pidfd, l.view.grace); err != nil {
			return err
		}
		return s.handshake(l, pipes, stage)
	}
	guarded := make(chan error, 1)
	s.tasks.Go(func() { guarded <- s.guard(stage.pidfd, 0) })
	err := s.handshake(l, pipes, stage)
	return cmp.Or(err, <-guarded)
}

// handshake sends the configuration, and waits for the second stage to become Python or to say why not.
func (s *nativeSandbox) handshake(l *launch, pipes *stdio, stage *stage) error {
	if l.info != nil {
		// Before the guest may run, and so may end.
		if err := s.findInner(l.info); err != nil {
			return err
		}
	}
	files := pipes.forGuest(l.view.keep)
	files = append(files, l.sent...)
	l.config.Files = len(files)
	b, err := l.encode(s.pid)
	if err != nil {
		return err
	}
	werr := stage.configure(b, files)
	pipes.closeGuest() // so that the end of each is seen
	answer, listener, err := stage.answer()
	if err != nil {
		return fmt.Errorf("starting a sandbox: %w", err)
	}
	if listener != nil {
		s.listener = listener
		s.tasks.Go((&threadLimit{listener, s.pid, l.policy.Processes}).run)
	}
	if errors.Is(werr, unix.ETOOMANYREFS) {
		return &stage2Error{stage2.Failure{Step: "passing descriptors", Errno: int(unix.ETOOMANYREFS)}}
	}
	answer, ready := bytes.CutPrefix(answer, []byte{stage2.Ready})
	if len(answer) > 0 {
		failure := new(stage2.Failure)
		if err := json.Unmarshal(answer, failure); err != nil {
			return fmt.Errorf("starting a sandbox: reading the second stage's answer %q: %w", answer, err)
		}
		return &stage2Error{*failure}
	}
	if !ready {
		return &stage2Error{stage2.Failure{Step: "starting the second stage", Text: endedEarly(werr)}}
	}
	return nil
}

func endedEarly(err error) string {
	if err != nil {
		return "it ended early: " + err.Error()
	}
	return "it ended early"
}

// A stage2Error is a failure of the second stage.
type stage2Error struct{ stage2.Failure }

func (e *stage2Error) Error() string { return e.Step + ": " + e.Text }

func (e *stage2Error) Unwrap() error {
	if e.Errno == 0 {
		return nil
	}
	return syscall.Errno(e.Errno)
}

func closeFiles(files ...*os.File) {
	for _, f := range files {
		if f != nil {
			f.Close()
		}
	}
}
