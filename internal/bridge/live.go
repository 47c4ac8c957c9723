package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"codemode/internal/guest"
	"codemode/internal/sandbox"
	"codemode/internal/servers"
)

// live is one guest while its sandbox is up. One goroutine reads its channel; every request it makes is
// answered from another goroutine, under a gate that bounds what they hold, by workers that bound how many are worked
// on, and a backlog that bounds what is held of answers. It dies once: by itself, by
// kill, or because it broke the protocol. close waits for all of it.
type live struct {
	bridge  *Bridge
	session string
	box     sandbox.Sandbox
	writes  []string // folders of the host that it may change
	conn    *guest.Conn
	ctx     context.Context // ends when the guest is gone
	end     context.CancelCauseFunc
	gone    chan struct{}  // closed when the reader has ended: nothing more will come
	work    sync.WaitGroup // the reader and every answer under way
	gate    *gate
	backlog *backlog
	workers *workers
	ids     atomic.Int64
	reading chan struct{} // a semaphore of one: its holder reads the guest's input

	large *largeMessage // what the reader has before it, if that is large

	greeting <-chan guest.Message // filled when the guest has begun to listen

	leaves bool              // it has a sandbox.OutDir. This and the next two are of who has locked the session
	news   bool              // something in there is new, as the guest says
	known  map[string]string // what was taken of it, with its stamps
	shown  []string          // what its first run is told of the client's folders

	mu           sync.Mutex
	pending      map[int64]chan guest.Message      // our requests without an answer yet
	calls        map[int64]context.CancelCauseFunc // the guest's requests under way
	run          *run                              // the run under way, nil between runs
	told         map[string]servers.Version        // servers as the guest knows them
	toldUnusable []guest.Unusable                  // those that are there and cannot be used
	references   map[string]string                 // words for the paths of artifacts, and their IDs
	broken       error                             // how the guest broke the protocol

	sentPaths sentPaths // the paths that stand for such words at servers
}

// endTimeout is how long a guest that has closed its channel may take to end.
const endTimeout = 3 * time.Second

func startLive(ctx context.Context, b *Bridge, session string, req Request) (*live, error) {
	box, err := b.startSandbox(ctx, session, req)
	if err != nil {
		return nil, err
	}
	l := &live{
		bridge: b, session: session, box: box,
		conn: guest.NewConn(box.Channel(), maxMessage),
		gone: make(chan struct{}), gate: newGate(), backlog: newBacklog(&b.slowReaders),
		pending: map[int64]chan guest.Message{}, calls: map[int64]context.CancelCauseFunc{},
		told: map[string]servers.Version{}, reading: make(chan struct{}, 1),
		leaves: b.savesOutFiles(req), known: map[string]string{},
	}
	for _, m := range req.mounts {
		if m.Write {
			l.writes = append(l.writes, m.Host)
		}
	}
	l.workers = newWorkers(maxAtWork, &l.work)
	l.reading <- struct{}{}
	l.ctx, l.end = context.WithCancelCause(withLogged(context.Background(), "", session))
	l.conn.LimitParsing(l.parseLine)
	l.conn.LimitReading(largeCall, l.beginLarge)
	l.work.Go(l.read)
	// The run is sent right behind; a guest that refuses the version answers and is gone.
	l.greeting = l.request(guest.MethodInitialize, initialize(session, req, box))
	return l, nil
}

// startSandbox starts a guest's sandbox, and tells of it.
func (b *Bridge) startSandbox(ctx context.Context, session string, req Request) (sandbox.Sandbox, error) {
	ctx, span := b.opts.Telemetry.Sandbox(ctx)
	box, err := b.opts.Runtime.Start(ctx, sandbox.Spec{
		Session: session, Tenant: b.opts.Config.Tenant, Files: b.files, Boot: "boot.py",
		Stdin: req.Stdin, StdinLock: req.StdinLock, Policy: Policy(b.opts.Config.Sandbox),
		Mounts: req.mounts, Env: req.env, Out: b.savesOutFiles(req),
	})
	if err != nil {
		span.End("failed", "sandbox_start")
		return nil, err
	}
	span.Runtime(box.Enforced().Runtime)
	span.End("ok", "")
	b.opts.Telemetry.Sessions(ctx, 1)
	b.log.InfoContext(ctx, "session begins", "runtime", box.Enforced().Runtime)
	return box, nil
}

// mayWrite tells whether all that the guest may change is among what is given.
func (l *live) mayWrite(given []sandbox.Mount) bool {
	return !slices.ContainsFunc(l.writes, func(folder string) bool {
		return !slices.ContainsFunc(given, func(m sandbox.Mount) bool { return m.Write && m.Host == folder })
	})
}

func (l *live) alive() bool {
	select {
	case <-l.gone:
		return false
	case <-l.box.Done():
		return false
	default:
		return true
	}
}

// processorTime is what the guest has used, for a clock.
func (l *live) processorTime() time.Duration {
	if used, ok := l.box.CPU(); ok {
		return used
	}
	return unseen
}

// kill ends the guest at once; its waiters see gone.
func (l *live) kill(cause error) {
	l.end(cause)
	l.box.Kill()
}

// close ends the guest and everything done for it. Nothing is left when it returns.
func (l *live) close() {
	l.end(errRunOver)
	if err := l.box.Close(); err != nil {
		l.bridge.log.WarnContext(l.ctx, "closing a sandbox", "error", err)
	}
	l.work.Wait()
	l.bridge.opts.Telemetry.Sessions(context.Background(), -1)
	l.bridge.log.InfoContext(l.ctx, "session ended")
}

// request sends a request and returns where its answer will arrive. It waits for nothing: a guest that reads nothing
// must not hold up a deadline.
func (l *live) request(method string, params any) (answer <-chan guest.Message) {
	id := l.ids.Add(1)
	c := make(chan guest.Message, 1)
	l.mu.Lock()
	l.pending[id] = c
	l.mu.Unlock()
	send := l.conn.Request(id, method, params)
	l.work.Go(func() {
		if err := send(); err != nil {
			l.awaitDeath()
			l.kill(err)
		}
	})
	return c
}

// read is the only reader of the guest's channel.
func (l *live) read() {
	defer close(l.gone)
	var pace pace
	for {
		m, err := l.conn.Read()
		if err == nil && pace.keep(l.ctx, m, l.bridge.readings.runs.Users()) != nil {
			err = io.EOF // the guest is being ended
		}
		if err == nil {
			err = l.handle(m)
		}
		l.large.leave()
		l.large = nil
		if err == nil {
			continue
		}
		if !errors.Is(err, io.EOF) && l.ctx.Err() == nil {
			l.broke(err)
		}
		if errors.Is(err, io.EOF) {
			l.awaitDeath()
		}
		l.end(errRunOver)
		l.box.Kill() // also when it only closed its end: nobody can talk to it any more
		return
	}
}

// broke keeps how the guest broke the protocol.
func (l *live) broke(err error) {
	l.mu.Lock()
	l.broken = err
	l.mu.Unlock()
	l.bridge.log.WarnContext(l.callContext(), "guest broke the protocol", "error", err)
}

// beginLarge waits until a message that turns out to be large may be read.
func (l *live) beginLarge() (err error) {
	l.large, err = l.bridge.readings.begin(l.ctx, l.session, func(err error) {
		l.broke(err)
		l.kill(err)
	})
	return err
}

// awaitDeath gives a guest whose channel has ended the time to tell how it ended, for Kill would be the answer after
// it.
func (l *live) awaitDeath() {
	select {
	case <-l.box.Done():
	case <-l.ctx.Done():
	case <-time.After(endTimeout):
	}
}

// handle takes one message of the guest's. Its methods are those of route (dispatch.go); a request with any other is a
// protocol error. An error ends the guest.
func (l *live) handle(m guest.Message) error {
	if m.Method == "" {
		return l.deliver(m)
	}
	switch m.Method {
	case guest.MethodOutput:
		return l.output(m.Params)
	case guest.MethodDisplay:
		return l.display(m.Params)
	case guest.MethodCancel:
		var c guest.Cancel
		if json.Unmarshal(m.Params, &c) == nil {
			l.cancel(c.ID)
		}
		return nil
	case guest.MethodToolCall,
		guest.MethodRequest,
		guest.MethodSubscribe,
		guest.MethodUpdates,
		guest.MethodServers,
		guest.MethodServer,
		guest.MethodSearch,
		guest.MethodStdin,
		guest.MethodSave,
		guest.MethodAddServer,
		guest.MethodPackages,
		guest.MethodSaved,
		guest.MethodArtifacts:
		return l.serve(m)
	}
	if m.IsRequest() {
		return fmt.Errorf("%w: unknown request %.60q", guest.ErrProtocol, m.Method)
	}
	return nil // an unknown notification is ignored
}

// longText is the size from which decoding takes a processor longer than the fair queue for it does.
const longText = 64 << 10

// decode enters the fair queue for decoding so many bytes, where they are many: it leaves one processor to all else.
// The caller must not block until it has called done.
func (l *live) decode(size int) (done func()) {
	if size <= longText {
		return func() {}
	}
	t := l.bridge.decoding.Join(l.session, 1)
	_ = t.Wait(l.ctx) // who is ending need not wait
	return t.Leave
}

// parse is decode for what the guest has sent: what it takes counts for the next large message.
func (l *live) parse(size int) (done func()) {
	decoded := l.decode(size)
	began := time.Now()
	return func() {
		decoded()
		if size >= largeCall {
			l.bridge.readings.took(l.session, time.Since(began))
		}
	}
}

// parseLine is parse for the reader, whose line is whole.
func (l *live) parseLine(size int) (done func()) {
	l.large.whole(size)
	return l.parse(size)
}

// deliver delivers the guest's answer to one of our requests.
func (l *live) deliver(m guest.Message) error {
	l.mu.Lock()
	answer, ok := l.pending[m.ID]
	delete(l.pending, m.ID)
	l.mu.Unlock()
	if !ok {
		return fmt.Errorf("%w: an answer to request %d, which nobody made", guest.ErrProtocol, m.ID)
	}
	answer <- m
	return nil
}

// serve answers a request of the guest's from another goroutine.
func (l *live) serve(m guest.Message) error {
	size := len(m.Params)
	if answersItself(m) {
		size += answerRoom
	}
	if err := l.gate.enter(l.ctx, size); err != nil {
		return io.EOF // the guest is being ended
	}
	ctx, cancel := context.WithCancelCause(l.callContext())
	l.mu.Lock()
	_, twice := l.calls[m.ID]
	l.calls[m.ID] = cancel
	l.mu.Unlock()
	if twice {
		cancel(nil)
		l.gate.leave(size)
		return fmt.Errorf("%w: request id %d twice", guest.ErrProtocol, m.ID)
	}
	large := l.large // it is the worker's from here on
	l.large = nil
	large.workedOn(cancel)
	l.workers.submit(l.ctx, func() {
		defer large.leave()
		defer l.gate.leave(size)
		defer cancel(nil)
		var result json.RawMessage
		var no *refusal
		task, err := l.backlog.begin(ctx)
		if err != nil {
			no = cancelled(err)
		} else {
			defer task.end()
			result, no = l.dispatch(ctx, task, m)
		}
		l.mu.Lock()
		delete(l.calls, m.ID)
		l.mu.Unlock()
		if err := l.respond(m.ID, result, no); err != nil && l.ctx.Err() == nil {
			l.bridge.log.DebugContext(ctx, "answering the guest", "error", err)
		}
		if task != nil && task.recording != nil {
			task.recording.flushRecords()
		}
	})
	return nil
}

// respond writes the answer to a request of the guest's.
func (l *live) respond(id int64, result json.RawMessage, no *refusal) error {
	if no != nil {
		message, data := l.bridge.refusalForCode(no)
		return l.conn.RespondError(id, no.code, message, data)
	}
	return l.conn.Respond(id, result)
}

// callContext is what a request of the guest's lives in: its run, or between runs the guest.
func (l *live) callContext() context.Context {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.run != nil {
		return l.run.ctx
	}
	return l.ctx
}

func (l *live) cancel(id int64) {
	l.mu.Lock()
	cancel := l.calls[id]
	l.mu.Unlock()
	if cancel != nil {
		cancel(errGuestCancelled)
	}
}

// notify sends a notification, in order, without waiting for a guest that may not be reading.
func (l *live) notify(method string, params any) {
	send := l.conn.Notify(method, params)
	l.work.Go(func() {
		if err := send(); err != nil && l.ctx.Err() == nil {
			l.bridge.log.DebugContext(l.callContext(), "telling the guest", "method", method, "error", err)
		}
	})
}

// setRun makes r the run that output and calls belong to.
func (l *live) setRun(r *run) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.run = r
}

func (l *live) runNumbered(n int) *run {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.run == nil || l.run.n != n {
		return nil
	}
	return l.run
}

// output adds what the guest printed to its run. What comes for a run that is over is dropped.
func (l *live) output(params json.RawMessage) error {
	var o guest.Output
	if err := json.Unmarshal(params, &o); err != nil {
		return fmt.Errorf("%w: output: %v", guest.ErrProtocol, err)
	}
	if r := l.runNumbered(o.Run); r != nil {
		data := o.Base64
		if data == nil {
			data = []byte(o.Text)
		}
		r.print(o.Stream, data)
	}
	return nil
}

// catalog is what this guest must be told before a run: every server that is new to it, has changed or is gone. As long
// as nothing has asked for a server, they are not looked for either: the guest asks when code does.
func (l *live) catalog(selected []string) *guest.CatalogUpdate {
	if !l.bridge.servers.Found() {
		return &guest.CatalogUpdate{Later: true}
	}
	var update guest.CatalogUpdate
	now := l.bridge.servers.Configured()
	for _, c := range now.All {
		entry, version := l.bridge.servers.View(c, selected)
		l.mu.Lock()
		before, told := l.told[c.Name]
		l.told[c.Name] = version
		l.mu.Unlock()
		if !told || before != version {
			update.Servers = append(update.Servers, entry)
		}
	}
	l.mu.Lock()
	for name := range l.told {
		if _, ok := now.Alias[name]; !ok {
			delete(l.told, name)
			update.Removed = append(update.Removed, name)
		}
	}
	if len(now.Unusable) > 0 || l.toldUnusable != nil {
		entries := now.UnusableEntries()
		for i := range entries {
			entries[i].Why = l.bridge.forCode(entries[i].Why)
		}
		if !slices.Equal(entries, l.toldUnusable) {
			l.toldUnusable, update.Unusable = entries, &entries
		}
	}
	l.mu.Unlock()
	if len(update.Servers)+len(update.Removed) == 0 && update.Unusable == nil {
		return nil
	}
	return &update
}

// refresh tells the guest the new tools of a server it knows.
func (l *live) refresh(ctx context.Context, name string) {
	l.mu.Lock()
	before, told := l.told[name]
	l.mu.Unlock()
	c, ok := l.bridge.servers.Find(name)
	if !ok || !told || !before.Known {
		return
	}
	if _, err := l.bridge.servers.Load(ctx, c); err != nil {
		return // its next use says why
	}
	var selected []string
	if !before.Loaded {
		selected = []string{}
	}
	entry, now := l.bridge.servers.View(c, selected)
	l.mu.Lock()
	l.told[name] = now
	l.mu.Unlock()
	l.notify(guest.MethodCatalog, guest.CatalogUpdate{Servers: []guest.Server{entry}})
}
