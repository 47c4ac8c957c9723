// Package bridge is one run and everything it needs: its session, the sandbox, and the calls it makes to servers. The
// MCP server over it is package mcpserver.
//
// It owns the live sandboxes (one per session), the upstream pool and the mapping from a run to an
// [Outcome]. It never prints and never reads the environment. [Bridge.Close] ends every session and
// every server and waits for them, and closes the runtime.
package bridge

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"maps"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"codemode/internal/artifact"
	"codemode/internal/audit"
	"codemode/internal/config"
	"codemode/internal/fair"
	"codemode/internal/guest"
	"codemode/internal/proc"
	"codemode/internal/quota"
	"codemode/internal/redact"
	"codemode/internal/sandbox"
	"codemode/internal/servers"
	"codemode/internal/telemetry"
	"codemode/internal/upstream"
)

// Options is what a bridge is made from. Nothing is started or probed until code must run.
type Options struct {
	Config  config.Config
	Servers func() *servers.Set // what is configured; called when something first asks for a server; nil is none
	Runtime sandbox.Runtime
	Log     *slog.Logger // over LogHandler, so that its lines name their run
	Version string
	Lookup  func(string) (string, bool) // environment of the servers' ${VAR}
	// Token is the access token for a server by URL, see upstream.Options.
	Token func(ctx context.Context, server config.Server, refused string) (string, error)
	// SignInSecrets are what else is kept of its sign-in, see upstream.Options.
	SignInSecrets func(ctx context.Context, server config.Server) []string

	// SignedInAs names who is signed in at a server by URL; nil is nobody.
	SignedInAs func(config.Server) string

	// SignInWanted is told what the server at a URL says where it wants its user to sign in; nil is nobody.
	SignInWanted func(server config.Server, challenges []string)

	// SignIn has its user sign in at a server by URL, which is offered where it is wanted; with nil it is not.
	SignIn SignIn

	// Expand replaces the references in a server's entry when it starts; resolved is told the values that came in.
	Expand func(s config.Server, resolved func(variable, value string)) (config.Server, error)
	// Secrets are the texts in a server's entry that no error and no log may say.
	Secrets func(config.Server) []string

	// Adder configures servers that code asks for; with nil it may ask for none.
	Adder ServerAdder

	// Pods starts servers in pods of a cluster, with an image and a limit of memory. Close closes it.
	Pods ServerPods

	// Packages adds packages that code asks for; with nil it may ask for none.
	Packages PackageAdder

	Telemetry *telemetry.Telemetry // nil is none

	// Mounts are what the sandboxes of sessions are shown of the user's files, asked for each; nil is nothing. Env are
	// variables for them.
	Mounts func() ([]sandbox.Mount, error)
	// Roots, when set, chooses what they are shown of the client's folders beside that, and says in sentences which
	// those are and which are not.
	Roots func(paths []string) (mounts []sandbox.Mount, notes []string)
	Env   []string

	// Progress, when set, is told what takes time: of the server that subject names, or of the sandbox where that is
	// empty. An empty text is its end. It is called from any goroutine.
	Progress func(subject, text string)

	// Protected, when set, are files and folders that no server in a sandbox may change; asked when the first starts.
	Protected func() []string
	// Homes are folders of the user's that no server in a sandbox sees whole, and that codemode's own texts call "~"
	// where code reads them.
	Homes []string
	// UnseenHomes are more that no server in a sandbox sees whole.
	UnseenHomes []string
	// Trusted are folders, the links on the way to which are followed in what such a server's entry names.
	Trusted []string

	CatalogDir string // where lists of tools are kept between processes; empty keeps none
	AuditDir   string // where the audit log is; empty keeps none
	StateDir   string // where large outputs are kept while they are readable; empty is the system's temporary directory
	ToolsDir   string // where saved tools are kept; empty keeps none

	Artifacts    *artifact.Store // nil is none
	KeepOutFiles bool            // what runs leave becomes artifacts, unless their request takes it

	Disk *quota.Budget // for all that is kept there, but for the audit log; nil is none
}

// Bridge runs code for one tenant.
type Bridge struct {
	opts        Options
	log         *slog.Logger
	servers     *servers.Inventory
	lists       *servers.Lists
	pool        *upstream.Pool
	saved       *saved
	admission   *admission
	audit       *audit.Log // nil keeps none
	runs        *runs
	outputs     *outputs
	slowReaders slowReaders
	files       fs.FS // the guest's tree, one value for all sandboxes, so that the runtime reads it once

	now     func() time.Time // by which calls are placed
	closing context.Context  // ends when Close begins
	end     context.CancelCauseFunc

	granted atomic.Pointer[[]sandbox.Mount] // what Withdraw was told last; nil before

	client atomic.Pointer[client] // nil as long as nobody knows it

	exposedAnswers *answers // what the user has said of calls by the client itself
	signIns        *signIns

	decoding *fair.Queue // for who reads long texts
	pictures pictures
	readings *readings

	mu       sync.Mutex
	sessions map[string]*session
	ended    map[string]int // runs of those that made room, by name
	ran      int            // the most runs of any that is in ended no more
	closed   bool
	work     sync.WaitGroup // one for every session still ending
}

// maxSessions bounds the sandboxes of one bridge: names are chosen by the agent, memory is the user's.
const maxSessions = 16

// maxEnded is of how many sessions it is known how many runs they had.
const maxEnded = 1000

var errClosed = errors.New("codemode is shutting down")

// New returns a bridge. Close it.
func New(opts Options) *Bridge {
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	if opts.Servers == nil {
		opts.Servers = servers.Always()
	}
	b := &Bridge{
		opts: opts, log: opts.Log, files: guest.Files(), sessions: map[string]*session{}, runs: newRuns(),
		exposedAnswers: newAnswers(), signIns: newSignIns(), now: time.Now,
	}
	b.decoding = fair.New(max(1, runtime.GOMAXPROCS(0)-1), 0)
	b.readings = newReadings()
	b.pictures = newPictures()
	b.closing, b.end = context.WithCancelCause(context.Background())
	b.saved = newSaved(opts.ToolsDir, opts.Disk)
	b.outputs = &outputs{base: opts.StateDir, max: opts.Config.Disk.MaxSize, budget: opts.Disk}
	if c := opts.Config.Audit; opts.AuditDir != "" && c.Keep > 0 {
		b.audit = audit.New(audit.Options{Dir: opts.AuditDir, MaxSize: c.MaxSize, Keep: c.Keep})
	}
	b.admission = newAdmission(opts.Config.Policy)
	b.lists = servers.OpenLists(servers.ListsOptions{
		Dir: opts.CatalogDir, Disk: opts.Disk, Tenant: opts.Config.Tenant, MaxAge: opts.Config.Catalog.MaxAge,
		Lookup: opts.Lookup, Expand: opts.Expand, SignedInAs: opts.SignedInAs, Log: opts.Log,
	})
	b.servers = servers.New(opts.Servers, b.lists, b.admission, b.catalogChanged)
	b.pool = upstream.NewPool(upstream.Options{
		Lookup:         opts.Lookup,
		Expand:         opts.Expand,
		Token:          opts.Token,
		SignInSecrets:  opts.SignInSecrets,
		SignInWanted:   opts.SignInWanted,
		Secrets:        opts.Secrets,
		AllowSelf:      opts.Config.Servers.AllowSelf,
		StartTimeout:   opts.Config.Servers.StartTimeout,
		CallTimeout:    opts.Config.Servers.CallTimeout,
		Log:            opts.Log,
		Version:        opts.Version,
		Sandbox:        startRestricted(opts),
		Trusted:        opts.Trusted,
		OnToolsChanged: b.servers.Forget,
		Observer:       startObserver{opts.Telemetry},
		Progress:       b.progress,
		Offers:         b.offers,
		Answer:         b.answerServer,
		OnProgress:     b.callProgress,
		Hold:           holdCall,
		Wire:           wire{},
		OnOpened:       b.opened,
		Meta:           opts.Telemetry.Meta,
	})
	b.servers.Use(b.pool)
	return b
}

// startRestricted starts servers within the native runtime's restrictions. What they may not write to is protected.
// A pod is for those that name an image.
func startRestricted(opts Options) func(config.Restrictions, string) proc.Starter {
	programs := sync.OnceValue(func() *sandbox.Programs {
		homes := slices.Concat(opts.Homes, opts.UnseenHomes)
		o := sandbox.ProgramOptions{Homes: homes, Trusted: opts.Trusted, Log: opts.Log}
		if opts.Protected != nil {
			o.Protected = opts.Protected()
		}
		return sandbox.NewPrograms(o)
	})
	return func(w config.Restrictions, project string) proc.Starter {
		if w.Image != "" && opts.Pods != nil {
			return opts.Pods.Server(w.Image, w.Memory)
		}
		return programs().Starter(sandbox.Restrictions{
			Read: w.Read, Write: w.Write, Network: w.Network, Memory: w.Memory, Project: project,
		})
	}
}

// ServerPods starts MCP servers in pods.
type ServerPods interface {
	Server(image string, memory int64) proc.Starter
	Close() error
}

// redactor takes out of a text what entries of servers keep secret, which must be known for that.
func (b *Bridge) redactor() *redact.Redactor {
	b.servers.Configured()
	return b.pool.Redactor()
}

// Close ends every session and every server. Runs under way end as cancelled.
func (b *Bridge) Close() error {
	b.end(errClosed)
	if b.audit != nil {
		b.audit.SyncSoon() // while sandboxes end
	}
	b.mu.Lock()
	b.closed = true
	for _, s := range b.sessions {
		b.work.Go(s.close) // side by side: a client that goes away waits seconds, not seconds for each
	}
	b.sessions = map[string]*session{}
	b.mu.Unlock()
	b.work.Wait()
	b.admission.close()
	b.servers.Flush()
	err := errors.Join(b.pool.Close(), b.outputs.close())
	if b.opts.Runtime != nil {
		err = errors.Join(err, b.opts.Runtime.Close())
	}
	if b.opts.Pods != nil {
		err = errors.Join(err, b.opts.Pods.Close())
	}
	if b.audit != nil {
		err = errors.Join(err, b.audit.Close())
	}
	return err
}

// Hurry has Close skip the servers' grace period.
func (b *Bridge) Hurry() { b.pool.Hurry() }

// Running are the names of the servers that have started and not ended yet.
func (b *Bridge) Running() []string { return b.pool.Running() }

// session returns the session of that name, making it when there is none. When there are too many
// it ends the one that has been idle longest.
func (b *Bridge) session(name string) (*session, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil, errClosed
	}
	if s, ok := b.sessions[name]; ok {
		return s, nil
	}
	if len(b.sessions) >= maxSessions {
		oldest := b.longestIdle()
		for oldest != nil && !oldest.retire() { // a run has come between
			oldest = b.longestIdle()
		}
		if oldest == nil {
			return nil, errTooManySessions
		}
		delete(b.sessions, oldest.name)
		b.note(oldest)
		b.work.Go(oldest.close)
	}
	s := newSession(b, name)
	s.runs = b.ran
	if runs, ran := b.ended[name]; ran {
		s.runs, s.lost = runs, "another session needed its place"
		delete(b.ended, name)
	}
	b.sessions[name] = s
	return s, nil
}

// note keeps how many runs a session has had that ends: by their numbers results name what was too large for them. It
// is called with b.mu held.
func (b *Bridge) note(s *session) {
	if len(b.ended) >= maxEnded {
		for _, runs := range b.ended {
			b.ran = max(b.ran, runs)
		}
		b.ended = nil
	}
	if b.ended == nil {
		b.ended = map[string]int{}
	}
	b.ended[s.name] = s.runs
}

var errTooManySessions = errors.New("16 sessions are running code already; end one or use one of them")

// longestIdle is called with b.mu held.
func (b *Bridge) longestIdle() *session {
	var oldest *session
	for _, s := range b.sessions {
		if at, idle := s.idleSince(); idle {
			if oldest == nil {
				oldest = s
			} else if t, _ := oldest.idleSince(); at.Before(t) {
				oldest = s
			}
		}
	}
	return oldest
}

var errWithdrawn = errors.New("a folder that it could change is given to code no longer; the next start says why")

// Withdraw ends the sandboxes that may change a folder which is not among those that are given now, and returns when
// they have ended. It comes before a server that is started from there.
func (b *Bridge) Withdraw(given []sandbox.Mount) {
	b.granted.Store(&given)
	for _, s := range b.all() {
		s.mu.Lock()
		l := s.live
		s.mu.Unlock()
		if l != nil && !l.mayWrite(given) {
			l.kill(errWithdrawn)
			<-l.box.Done()
		}
	}
}

// all are the sessions there are.
func (b *Bridge) all() []*session {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Collect(maps.Values(b.sessions))
}

// catalogChanged tells every live guest what has changed about a server it knows.
func (b *Bridge) catalogChanged(server string) {
	for _, s := range b.all() {
		s.serverChanged(server)
	}
}

// Servers is what is known of the bridge's servers.
func (b *Bridge) Servers() *servers.Inventory { return b.servers }
