package bridge

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"codemode/internal/audit"
	"codemode/internal/catalog"
	"codemode/internal/config"
	"codemode/internal/guest"
	"codemode/internal/inquiry"
	"codemode/internal/sandbox"
	"codemode/internal/servers"
	"codemode/internal/telemetry"
	"codemode/internal/upstream"
)

// Request is code to run.
type Request struct {
	Code     string
	Filename string   // as tracebacks show it; empty is "<run N>"
	Argv     []string // sys.argv
	Servers  []string // the servers the code may call; nil is all of them, loaded on use
	Timeout  time.Duration
	Session  string // empty is the default one
	Script   bool   // a program rather than a cell: the value of a last expression is not wanted
	Stdin    *os.File

	StdinLock sync.Locker // see sandbox.Spec

	// Output, when set, gets what is printed as it is printed, and the outcome carries none of it.
	// Display gets images the same way. Both are called from one goroutine.
	Output  func(stream string, data []byte)
	Display func(mime string, data []byte)

	// Ask asks the user about a call, from one goroutine at a time. Where it is nil, nobody can be asked because of
	// what Unasked says: "this client cannot …".
	Ask     Asker
	Unasked string

	// Respond answers what servers ask in the middle of calls, and Can is what of that it can.
	Respond inquiry.Responder
	Can     *inquiry.Capabilities

	// Progress, when set, is told what servers say of the progress of calls. It waits for nothing.
	Progress func(text string)

	// Printed, when set, is told what is printed as it is printed; the outcome has it all the same. Calling is told
	// what is known of each call that a server works on, at first Called, and an empty text at its end. Both wait for
	// nothing.
	Printed func(stream string, data []byte)
	Calling func(call, text string)

	// Modules, when set, is the folder in the sandbox that modules are imported from before all others.
	Modules string

	// OutFiles, when set, gets the files that the code has left in sandbox.OutDir, after it has ended, until it returns
	// an error. Of a session's later runs, it gets what is new.
	OutFiles func(sandbox.OutFile) error

	mounts []sandbox.Mount // what a sandbox that is started for it is shown and given
	env    []string

	Client string           // who wants the run, for the audit log
	Parent telemetry.Parent // the span it is made in
}

// defaultSession is the session of a request that names none.
const defaultSession = "default"

// run is one execution of code: what it printed, showed and called so far.
type run struct {
	n      int
	req    Request
	ctx    context.Context  // parent of every call it makes; ends with the run
	failed map[string]error // servers that did not start for it
	end    context.CancelCauseFunc

	clock    *clock
	answers  *answers // of the session
	id       string   // in logs, and in the receipt
	tenant   string
	log      *audit.Log                                          // nil keeps none
	logged   int                                                 // its lines before the run
	shown    func(arguments json.RawMessage) (text, note string) // what the log has of a call's; nil shows none
	calls    atomic.Int64
	refusals atomic.Int64
	stats    *callStats

	placement placement

	saving sync.Mutex // held while a tool is being kept

	ends      sync.Mutex     // held until the log has them
	unwritten []audit.Record // ends of calls that have no line yet

	mu             sync.Mutex
	stdout, stderr *recorder
	images         []Image
	imageBytes     int
	decoding       time.Duration                    // what decoding its images took
	subscriptions  map[int64]*upstream.Subscription // nil once they are closed
	notes          []string
	done           []string
	replaced       int                  // how many of done say that something was replaced: the first of them
	said           map[answerKey]Answer // the user's answers that hold until the run ends
	admitted       int                  // calls that policy has let pass; admission's
	asked          int                  // questions to the user; counted while asking is held
	over           bool                 // the outcome has been made: what still comes is too late
}

// runIDLength is enough for no two runs of a log to be called the same: 60 bits.
const runIDLength = 12

// Run runs code and says what came of it. It returns when the code has ended or been stopped, with the
// session ready for its next run. Ending ctx cancels the run.
func (b *Bridge) Run(ctx context.Context, req Request) Outcome {
	if req.Session == "" {
		req.Session = defaultSession
	}
	if _, bad := b.selected(req.Servers); bad != nil {
		return *bad
	}
	if req.Can != nil {
		b.Meet(Client{Can: req.Can})
	}
	s, err := b.lockSession(ctx, req.Session)
	switch {
	case err != nil && ctx.Err() != nil:
		return Outcome{
			Status: StatusCancelled, ExitCode: 130, Session: req.Session,
			Error: "cancelled before it began: an earlier run of this session was still under way",
		}
	case err != nil:
		return NotRun(err)
	}
	defer s.end()
	defer b.readings.tidy()
	defer b.readings.runs.Join(req.Session, 1).Leave()
	selected, bad := b.selected(req.Servers) // they may have changed while it waited
	if bad != nil {
		return *bad
	}
	out := s.run(ctx, req, selected)
	out.Session, out.Servers = req.Session, req.Servers
	b.runs.add(out)
	return out
}

// lockSession returns the session of that name, locked for the caller's run. One that was pushed out before it could be
// locked is made again.
func (b *Bridge) lockSession(ctx context.Context, name string) (*session, error) {
	for {
		s, err := b.session(name)
		if err != nil {
			return nil, err
		}
		if err = s.begin(ctx); err == nil {
			return s, nil
		}
		if !errors.Is(err, errClosed) || b.closing.Err() != nil {
			return nil, err
		}
	}
}

// selected resolves the servers a request names, by real name or alias.
func (b *Bridge) selected(names []string) ([]config.Server, *Outcome) {
	if names == nil {
		return nil, nil
	}
	list := make([]config.Server, 0, len(names))
	for _, name := range names {
		c, ok := b.servers.Find(name)
		if u, there := b.servers.Configured().UnusableNamed(name); !ok && there {
			out := Invalid("servers: %v", u.Err)
			out.Err = u.Err
			return nil, &out
		}
		if !ok {
			near := catalog.Suggest(name, b.servers.Configured().Names())
			unknown := &servers.UnknownServerError{Name: name, Nearest: near}
			all := ""
			if unknown.Nearest == "" {
				all = b.nearest(name)
			}
			out := Invalid("servers: there is no server %q%s", name, all)
			out.Err = unknown
			return nil, &out
		}
		if !slices.ContainsFunc(list, func(s config.Server) bool { return s.Name == c.Name }) {
			list = append(list, c)
		}
	}
	return list, nil
}

// nearest ends a sentence about an unknown server.
func (b *Bridge) nearest(name string) string {
	if u, there := b.servers.Configured().UnusableNamed(name); there {
		return "; " + u.Why()
	}
	if near := catalog.Suggest(name, b.servers.Configured().Names()); near != "" {
		return fmt.Sprintf("; did you mean %q?", near)
	}
	if all := b.servers.Configured().Names(); len(all) > 0 && len(all) <= 12 {
		return "; there are " + strings.Join(all, ", ")
	}
	return ""
}

// run does one run; the caller has locked the session.
func (s *session) run(ctx context.Context, req Request, selected []config.Server) (out Outcome) {
	began := time.Now()
	id := strings.ToLower(rand.Text()[:runIDLength])
	ctx, span := s.bridge.beginRun(ctx, id, req)
	defer func() { s.bridge.endRun(ctx, span, out, time.Since(began)) }()
	notes, failed, l, err := s.prepare(ctx, req, selected)
	if err != nil {
		if ctx.Err() != nil {
			return Outcome{Status: StatusCancelled, ExitCode: 130, Error: "cancelled before it began"}
		}
		return NotRun(err)
	}
	r := s.newRun(l, req, id, span)
	r.notes, r.failed = notes, failed
	r.recordBegin()
	l.setRun(r)
	started := time.Now()
	out = s.await(ctx, l, r, names(selected))
	r.end(errRunOver)
	r.settleSaves()
	r.placement.end()
	r.stats.settle()
	r.unsubscribe()
	l.setRun(nil)
	r.recordEnd(&out, time.Since(started), s.bridge.opts.Config.Audit.Required)
	s.fill(&out, r)
	s.writeReceipt(&out, l, r, began, started)
	l.saveOutFiles(ctx, &out, r)
	if !l.alive() {
		s.drop("the last run ended it")
	}
	return out
}

// writeReceipt says what the run did, and how long it took.
func (s *session) writeReceipt(out *Outcome, l *live, r *run, began, started time.Time) {
	took := time.Since(started)
	asked, starting := r.clock.paused()
	out.Receipt = receiptFor(l.box.Enforced())
	out.Receipt.Run = r.id
	r.stats.close(out)
	p := &out.Receipt
	p.StartMS, p.AskedMS = (started.Sub(began) + starting).Milliseconds(), asked.Milliseconds()
	p.PythonMS = max(0, (took-asked-starting).Milliseconds()-p.ToolsMS)
}

func names(list []config.Server) []string {
	if list == nil {
		return nil
	}
	n := make([]string, 0, len(list))
	for _, c := range list {
		n = append(n, c.Name)
	}
	return n
}

// prepare brings up the sandbox and the named servers side by side; the run's deadline has not begun. A server that
// does not start costs a note, and is not started once more for this run: its calls say why.
func (s *session) prepare(
	ctx context.Context, req Request, selected []config.Server,
) (notes []string, failed map[string]error, l *live, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(s.bridge.closing, func() { cancel(errClosed) })()
	var failures []error
	var wg sync.WaitGroup
	if strings.Contains(req.Code, "mcp") { // so that it need not ask; other code may all the same
		wg.Go(func() { s.bridge.servers.Configured() })
	}
	if len(selected) > 0 {
		wg.Go(func() { _, failures = s.bridge.servers.LoadAll(ctx, selected) })
	}
	s.bridge.progress("", "starting Python")
	l, err = s.guest(ctx, req)
	s.bridge.progress("", "")
	wg.Wait()
	if err == nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	failed = map[string]error{}
	for _, f := range failures {
		if req.mayOpen() && s.bridge.opts.SignIn != nil && upstream.WantsSignIn(f) {
			continue // which is offered when it is called
		}
		note := f.Error()
		if start := new(upstream.StartError); errors.As(f, &start) {
			failed[start.Server] = f
			if start.Way() != "" {
				note += "; " + start.Way()
			}
		}
		notes = append(notes, note)
	}
	if err == nil {
		for i := range notes {
			notes[i] = l.sentPaths.unresolve(notes[i])
		}
		notes, l.shown = append(notes, l.shown...), nil
	}
	if note := s.lostNote(); note != "" {
		notes = append(notes, note)
	}
	return notes, failed, l, err
}

func (s *session) newRun(l *live, req Request, id string, span *telemetry.Span) *run {
	s.mu.Lock()
	n := s.runs
	s.mu.Unlock()
	c := s.bridge.opts.Config.Output
	calls := newCallStats()
	r := &run{
		n: n, req: req, stats: calls, said: map[answerKey]Answer{}, subscriptions: map[int64]*upstream.Subscription{},
		clock:   newClock(req.Timeout, s.bridge.admission.confirmTimeout, calls.busySoFar, l.processorTime),
		answers: s.answers,
		id:      id, tenant: s.bridge.opts.Config.Tenant, log: s.bridge.audit,
		stdout: newRecorder(c.Limit, c.Keep, s.bridge.outputs),
		stderr: newRecorder(c.Limit, c.Keep, s.bridge.outputs),
	}
	if box, ok := l.box.(sandbox.Sharer); ok {
		r.placement.share, r.placement.now = box.ShareProcessor, s.bridge.now
	}
	if s.bridge.opts.Config.Audit.Arguments == "full" {
		r.shown = s.bridge.shownArguments
	}
	r.ctx, r.end = context.WithCancelCause(withClock(span.Around(withLogged(l.ctx, id, req.Session)), r.clock))
	return r
}

// await sends the run and waits for the one thing that ends it.
func (s *session) await(ctx context.Context, l *live, r *run, selected []string) Outcome {
	filename := r.req.Filename
	if filename == "" {
		filename = fmt.Sprintf("<run %d>", r.n)
	}
	message := guest.Run{
		Run: r.n, Code: r.req.Code, Filename: filename, Argv: r.req.Argv, Script: r.req.Script,
		Selected: selected, Catalog: l.catalog(selected),
	}
	answer := l.request(guest.MethodRun, message)
	defer r.clock.stop()
	select {
	case m := <-answer:
		return s.finished(l, m)
	case <-l.gone:
		return s.died(l, r, answer)
	case <-r.clock.over():
		return s.interrupt(l, r, answer, "timeout")
	case <-ctx.Done():
		return s.interrupt(l, r, answer, "cancelled")
	}
}

func (r *run) print(stream string, data []byte) {
	if len(data) == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.over:
	case r.req.Output != nil:
		r.req.Output(stream, data)
	case stream == "stderr":
		r.stderr.write(data)
	default:
		r.stdout.write(data)
	}
	if !r.over && r.req.Printed != nil {
		r.req.Printed(stream, data)
	}
}

// addNote adds what the caller should know.
func (r *run) addNote(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.noteLocked("%s", text)
}

// noteDone adds what the code has brought about. A result says it before all else, so that nothing hides it.
func (r *run) noteDone(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !slices.Contains(r.done, text) {
		r.done = append(r.done, text)
	}
}

// noteReplaced is noteDone for what was there before: it is said first.
func (r *run) noteReplaced(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !slices.Contains(r.done, text) {
		r.done = slices.Insert(r.done, r.replaced, text)
		r.replaced++
	}
}

// noteLocked adds what the caller should know, unless it is there or there is too much of that. r.mu is held.
func (r *run) noteLocked(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if len(r.notes) < maxNoted && !slices.Contains(r.notes, text) {
		r.notes = append(r.notes, text)
	}
}
