package bridge

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"codemode/internal/config"
	"codemode/internal/guest"
	"codemode/internal/inquiry"
	"codemode/internal/sandbox"
)

// A session is a name under which variables persist. It begins without a sandbox, gets one at its first
// run, loses it when the guest dies, is killed or has been idle too long, and gets a fresh one at the
// next run. Its runs come one after the other, in the order they asked. After close nothing is left.
type session struct {
	bridge *Bridge
	name   string
	lock   chan struct{} // a semaphore of one: its holder may run

	answers *answers
	starts  pace // of its sandboxes

	mu      sync.Mutex
	live    *live       // nil when no sandbox is up
	runs    int         // counts runs over all sandboxes of the session
	spills  []Text      // large outputs still readable, newest last
	idle    *time.Timer // stops the sandbox; nil while a run is under way
	since   time.Time   // end of the last run
	closed  bool
	lost    string // why the variables of earlier runs are gone; told once
	stopped sync.WaitGroup
}

// keptOutputs is how many large outputs of a session stay readable.
const keptOutputs = 16

func newSession(b *Bridge, name string) *session {
	s := &session{bridge: b, name: name, lock: make(chan struct{}, 1), answers: newAnswers(), since: time.Now()}
	s.lock <- struct{}{}
	return s
}

// begin locks the session, for one run. The caller calls end when it returned nil.
func (s *session) begin(ctx context.Context) error {
	select {
	case <-s.lock:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		s.lock <- struct{}{}
		return errClosed
	}
	s.runs++
	if s.idle != nil && s.idle.Stop() {
		s.stopped.Done()
	}
	s.idle = nil
	return nil
}

// end unlocks the session, and lets the sandbox go when nobody comes for it in time.
func (s *session) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.since = time.Now()
	s.lock <- struct{}{} // before the timer, which needs it; who begins then waits for mu
	if after := s.bridge.opts.Config.Sandbox.IdleTimeout; s.live != nil && !s.closed && after > 0 {
		s.stopped.Add(1)
		s.idle = time.AfterFunc(after, s.expire)
	}
}

// expire ends an idle sandbox, unless a run has come between.
func (s *session) expire() {
	defer s.stopped.Done()
	select {
	case <-s.lock:
	default:
		return
	}
	s.drop("it was idle for " + s.bridge.opts.Config.Sandbox.IdleTimeout.String())
	s.lock <- struct{}{}
}

// idleSince reports since when nothing has run; false while something does.
func (s *session) idleSince() (time.Time, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.since, len(s.lock) == 1
}

// retire has the session take no run any more, unless one is under way. The caller closes it.
func (s *session) retire() bool {
	select {
	case <-s.lock:
	default:
		return false
	}
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.lock <- struct{}{}
	return true
}

// guest returns the live guest, starting one when there is none.
func (s *session) guest(ctx context.Context, req Request) (*live, error) {
	s.mu.Lock()
	l := s.live
	s.mu.Unlock()
	if l != nil && l.alive() {
		return l, nil
	}
	if l != nil {
		s.drop("Python had ended")
	}
	if err := s.starts.Wait(ctx, paceAhead); err != nil {
		return nil, err
	}
	granted := s.bridge.granted.Load()
	req.env = s.bridge.opts.Env
	if s.bridge.opts.Mounts != nil {
		var err error
		if req.mounts, err = s.bridge.opts.Mounts(); err != nil {
			return nil, err
		}
	}
	roots, notes := s.bridge.roots(ctx, req)
	req.mounts = append(slices.Clip(req.mounts), roots...)
	if sessions := s.bridge.readings.runs.Users(); sessions > 1 {
		s.starts.count(costOfStart, sessions)
	}
	l, err := startLive(ctx, s.bridge, s.name, req)
	if err != nil {
		return nil, err
	}
	l.shown = notes
	s.mu.Lock()
	closed := s.closed
	if !closed {
		s.live = l
	}
	s.mu.Unlock()
	if closed { // while it was starting; close waits for our lock and has not seen it
		l.close()
		return nil, errClosed
	}
	if now := s.bridge.granted.Load(); now != granted && !l.mayWrite(*now) { // Withdraw has not seen it either
		l.kill(errWithdrawn)
	}
	return l, nil
}

// rootsTimeout is how long a session waits for a client to name its folders.
const rootsTimeout = 5 * time.Second

// roots are what a new sandbox is shown of the client's folders, where the user's settings say so.
func (b *Bridge) roots(ctx context.Context, req Request) (mounts []sandbox.Mount, notes []string) {
	c := b.client.Load()
	if b.opts.Roots == nil || c == nil {
		return nil, nil
	}
	ask := c.Roots
	if ask == nil { // it can be asked in a call alone
		ask = req.Respond
	}
	ctx, cancel := context.WithTimeout(ctx, rootsTimeout)
	defer cancel()
	paths, err := inquiry.Folders(ctx, c.Can, ask)
	if err != nil {
		return nil, []string{err.Error()}
	}
	return b.opts.Roots(paths)
}

// drop ends the sandbox and remembers why its variables are gone.
func (s *session) drop(why string) {
	s.mu.Lock()
	l := s.live
	s.live = nil
	if l != nil {
		s.lost = why
	}
	s.mu.Unlock()
	if l != nil {
		l.close()
	}
}

// lostNote says, once, that this run does not see the variables of earlier ones.
func (s *session) lostNote() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	why := s.lost
	s.lost = ""
	if why == "" {
		return ""
	}
	return "this is a fresh Python: the variables of earlier runs are gone because " + why
}

// keep makes a large output readable as a resource, and lets the oldest go.
func (s *session) keep(texts ...Text) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range texts {
		if t.spill != nil {
			s.spills = append(s.spills, t)
		}
	}
	for len(s.spills) > keptOutputs {
		s.spills[0].spill.close()
		s.spills = s.spills[1:]
	}
}

// OutputOf names an output that was too large for its result: the stdout or stderr of a session's run.
type OutputOf struct {
	Session string
	Run     int
	Stream  string
}

// ErrNoOutput says that there is no such output, or none any more.
var ErrNoOutput = errors.New("there is no such output, or none any more")

// ReadOutput reads up to n bytes of a kept output from an offset on, and says how large all of it is.
func (b *Bridge) ReadOutput(of OutputOf, offset int64, n int) (page []byte, size int64, err error) {
	b.mu.Lock()
	s := b.sessions[of.Session]
	b.mu.Unlock()
	if s == nil {
		return nil, 0, ErrNoOutput
	}
	kept, ok := s.kept(of.Run, of.Stream)
	if !ok {
		return nil, 0, ErrNoOutput
	}
	page, err = kept.page(offset, n)
	return page, kept.size, err
}

// kept finds a kept output.
func (s *session) kept(run int, stream string) (*spill, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.spills {
		if t.spill.run == run && t.spill.stream == stream {
			return t.spill, true
		}
	}
	return nil, false
}

// serverChanged brings a guest that knows the server up to date.
func (s *session) serverChanged(name string) {
	s.mu.Lock()
	l := s.live
	s.mu.Unlock()
	if l != nil {
		l.refresh(name)
	}
}

// close ends the sandbox and waits for a run under way, which ends as cancelled.
func (s *session) close() {
	s.mu.Lock()
	s.closed = true
	l := s.live
	if s.idle != nil && s.idle.Stop() {
		s.stopped.Done()
	}
	s.idle = nil
	s.mu.Unlock()
	if l != nil {
		l.kill(errClosed)
	}
	<-s.lock // the run under way sees its guest die and ends
	s.drop("")
	s.stopped.Wait()
	s.mu.Lock()
	for _, t := range s.spills {
		t.spill.close()
	}
	s.spills = nil
	s.mu.Unlock()
	s.lock <- struct{}{} // whoever still waits for the lock finds the session closed
}

// Policy makes the sandbox's policy of the [sandbox] settings. What chooses or configures a runtime is read by
// commands/runtime.go instead.
func Policy(c config.Sandbox) sandbox.Policy {
	p := sandbox.DefaultPolicy()
	p.Memory, p.Processes, p.CPUs = c.Memory, c.Pids, c.CPUs
	p.TmpSize, p.WorkSize = c.TmpSize, c.WorkSize
	p.FileSize = max(p.FileSize, c.TmpSize, c.WorkSize) // who gives it room may fill that with one file
	p.Isolation = sandbox.Isolation(c.Isolation)
	p.AllowGaps = c.AllowGaps
	p.Interpreter = c.Python
	return p
}

// maxMessage is the longest line of the guest's channel, and with it the largest argument or result.
const maxMessage = 64 << 20

var (
	errRunOver        = errors.New("the run has ended")
	errGuestCancelled = errors.New("cancelled")
)

// initialize is the first message of every guest.
func initialize(session string, req Request, box sandbox.Sandbox) guest.Initialize {
	return guest.Initialize{
		Version: guest.ProtocolVersion, Session: session, Stdin: req.Stdin != nil, PullStdin: box.Input() != nil,
		Modules: req.Modules, Path: box.SitePackages(), Layers: box.Layers(), MaxMessage: maxMessage,
	}
}
