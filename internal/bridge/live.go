package bridge

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"codemode/internal/guest"
	"codemode/internal/sandbox"
	"codemode/internal/servers"
)

// live is one guest while its sandbox is up. One goroutine at a time reads its channel (channel.go); what it asks for
// is answered under a gate that bounds what requests hold, by workers that bound how many are worked on, and a backlog
// that bounds what is held of answers. It dies once: by itself, by kill, or because it broke the protocol. close waits
// for all of it.
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

	pace  pace          // this and the next one are the reader's
	large *largeMessage // what it has before it, if that is large

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
	outdated     map[string]bool                   // of them, those whose tools have changed since
	telling      bool                              // somebody tells the guest of those
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
		told: map[string]servers.Version{}, outdated: map[string]bool{}, reading: make(chan struct{}, 1),
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
	l.workers.begin(l.ctx, l.read)
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
	l.work.Go(l.send(method, params))
}

// send takes a message's place among those to the guest; the caller has it written.
func (l *live) send(method string, params any) (written func()) {
	send := l.conn.Notify(method, params)
	return func() {
		if err := send(); err != nil && l.ctx.Err() == nil {
			l.bridge.log.DebugContext(l.callContext(), "telling the guest", "method", method, "error", err)
		}
	}
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
	err := guest.ReadOutput(params, func(o guest.Output) {
		if r := l.runNumbered(o.Run); r != nil {
			r.print(o.Stream, o.Data)
		}
	})
	if err != nil {
		return fmt.Errorf("%w: output: %w", guest.ErrProtocol, err)
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

// refresh tells the guest the new tools of a server it knows. One that does not read is told later what they are then.
func (l *live) refresh(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.told[name].Known {
		return
	}
	l.outdated[name] = true
	if !l.telling {
		l.telling = true
		l.work.Go(l.tellChanges)
	}
}

// tellChanges ends when there is nothing more to tell.
func (l *live) tellChanges() {
	for {
		l.mu.Lock()
		names := slices.Sorted(maps.Keys(l.outdated))
		clear(l.outdated)
		l.telling = len(names) > 0
		l.mu.Unlock()
		if len(names) == 0 {
			return
		}
		for _, name := range names {
			l.tellChange(name)
		}
	}
}

func (l *live) tellChange(name string) {
	c, ok := l.bridge.servers.Find(name)
	if !ok {
		return
	}
	if _, err := l.bridge.servers.Load(l.ctx, c); err != nil {
		return // its next use says why
	}
	l.mu.Lock()
	before, told := l.told[name]
	l.mu.Unlock()
	var selected []string
	if !before.Loaded {
		selected = []string{}
	}
	entry, now := l.bridge.servers.View(c, selected)
	if !told || before == now { // it was told meanwhile
		return
	}
	l.mu.Lock()
	l.told[name] = now
	l.mu.Unlock()
	l.send(guest.MethodCatalog, guest.CatalogUpdate{Servers: []guest.Server{entry}})()
}
