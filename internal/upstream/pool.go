package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"codemode/internal/config"
	"codemode/internal/proc"
)

// Options is what a pool is made from. Zero durations mean no limit.
type Options struct {
	Servers []config.Server
	Lookup  func(string) (string, bool) // the user's environment
	// Until a server has answered initialize and tools/list; an entry may have its own.
	StartTimeout time.Duration
	CallTimeout  time.Duration // of one call, from its start or its last progress
	MaxMessage   int           // bytes in one message of a server; 0 is 64 MiB
	AllowSelf    bool          // a server may be codemode itself
	// Servers start as an AI client starts them: they may be codemode, and are not told of this one.
	AsClient bool
	Log      *slog.Logger
	Version  string // codemode's, for clientInfo

	// Expand replaces the references in an entry when its server starts; nil leaves it as it is. resolved is told
	// each value that came in: it may be a secret.
	Expand func(s config.Server, resolved func(variable, value string)) (config.Server, error)

	// Secrets are the texts in an entry that no error and no log may say, beside its environment and headers; nil knows
	// of none. It is asked about entries before and after Expand.
	Secrets func(config.Server) []string

	// Token, when set, is the access token for a server by URL whose entry has none: of a sign-in of the user's.
	// refused is one that the server has refused; empty is none. [ErrNoToken] says
	// that there is none; any other error is told.
	Token func(ctx context.Context, server config.Server, refused string) (string, error)

	// SignInSecrets, when set, are what else is kept of the sign-in that a token is of, as what it is refreshed with.
	SignInSecrets func(ctx context.Context, server config.Server) []string

	// SignInWanted, when set, is told what the server at a URL says where it wants its user to sign in, its
	// WWW-Authenticate headers; nil says that it wants nothing.
	SignInWanted func(server config.Server, challenges []string)

	// Observer, when set, is told of the starts of servers' processes.
	Observer Observer

	// Progress, when set, is told what a server that starts is about, and each line of its stderr until it has started;
	// an empty text is the end.
	Progress func(server, text string)

	// Meta, when set, is what a call says in its _meta, beside what this package says there.
	Meta func(ctx context.Context) map[string]string

	// Offers, when set, is what a server is told as it starts that it may ask of its client; nil is nothing.
	Offers func() *mcp.ClientCapabilities

	// Answer, when set, answers what a server asks. A *jsonrpc.Error reaches the server with its code.
	Answer func(ctx context.Context, server string, of About, request mcp.InputRequest) (mcp.InputResponse, error)

	// OnOpened, when set, is told that what a URL was to be opened for has happened, by the id that the server gave it.
	OnOpened func(ctx context.Context, server, id string)

	// Hold, when set, is told that a call waits for its user, until release.
	Hold func(ctx context.Context) (release func())

	// Wire, when set, is told what becomes of calls on their way to servers.
	Wire Wire

	// OnProgress, when set, is told what a server says of a call's progress, in the context of that. It must not wait:
	// nothing else of the server is read until it returns.
	OnProgress func(ctx context.Context, server string, p Progress)

	// Sandbox returns what starts a server within the restrictions of its entry, whose paths are absolute by then, and
	// which came with a project, if with any; nil refuses to start such a server.
	Sandbox func(restrictions config.Restrictions, project string) proc.Starter

	// Trusted are folders, the links on the way to which are followed to the file of variables of such a server.
	Trusted []string

	// OnToolsChanged is called when a server's tools may be others than Tools last said. Close waits
	// for it, so it must not call Close.
	OnToolsChanged func(server string)
}

// Pool is the servers of one tenant. Its methods may be called from any goroutine.
type Pool struct {
	opts Options
	ctx  context.Context // ends with Close
	end  context.CancelCauseFunc
	work sync.WaitGroup // one for every goroutine of the pool's servers

	hurry   context.Context // ends with Hurry
	hurries context.CancelFunc

	mu      sync.Mutex
	closed  bool
	servers map[string]*server // those that are configured now

	rooms  *rooms       // of servers' messages
	unread atomic.Int64 // servers that say too much unasked

	redacting redacting // of the last Redactor
	others    others
}

// ErrUnknownServer is a name that is not configured.
var ErrUnknownServer = errors.New("unknown server")

// ErrNoToken is why there is no token: nobody is signed in.
var ErrNoToken = errors.New("nobody is signed in")

// ErrRedefined is why a call was not sent: the server no longer lists the tool as it was when the call was judged.
var ErrRedefined = errors.New("its definition has changed since the call was judged, so it is not sent: look at it anew")

// ErrRelisted is why a request was not sent: its server lists other tools than its user has agreed to.
var ErrRelisted = errors.New("the server's tools have changed since its user was asked, so it is not sent: the next try asks anew")

var errClosed = errors.New("codemode is shutting down")

const defaultMaxMessage = 64 << 20

// NewPool returns a pool that has started nothing yet. Close it.
func NewPool(opts Options) *Pool {
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	if opts.Secrets == nil {
		opts.Secrets = func(config.Server) []string { return nil }
	}
	if opts.Observer == nil {
		opts.Observer = unobserved{}
	}
	if opts.Progress == nil {
		opts.Progress = func(string, string) {}
	}
	if opts.SignInSecrets == nil {
		opts.SignInSecrets = func(context.Context, config.Server) []string { return nil }
	}
	if opts.Token == nil {
		opts.Token = func(context.Context, config.Server, string) (string, error) { return "", ErrNoToken }
	}
	if opts.SignInWanted == nil {
		opts.SignInWanted = func(config.Server, []string) {}
	}
	if opts.Offers == nil {
		opts.Offers = func() *mcp.ClientCapabilities { return &mcp.ClientCapabilities{} }
	}
	if opts.Hold == nil {
		opts.Hold = func(context.Context) func() { return func() {} }
	}
	if opts.Wire == nil {
		opts.Wire = untold{}
	}
	if opts.OnOpened == nil {
		opts.OnOpened = func(context.Context, string, string) {}
	}
	if opts.OnProgress == nil {
		opts.OnProgress = func(context.Context, string, Progress) {}
	}
	if opts.Meta == nil {
		opts.Meta = func(context.Context) map[string]string { return nil }
	}
	if opts.Lookup == nil {
		opts.Lookup = func(string) (string, bool) { return "", false }
	}
	if opts.MaxMessage <= 0 {
		opts.MaxMessage = defaultMaxMessage
	}
	p := &Pool{opts: opts, rooms: newRooms(opts.MaxMessage)}
	p.ctx, p.end = context.WithCancelCause(context.Background())
	p.hurry, p.hurries = context.WithCancel(context.Background())
	p.Update(opts.Servers)
	return p
}

// Tools returns the definitions of a server's tools as the server sent them, starting it when that is
// needed. The caller must not change them.
func (p *Pool) Tools(ctx context.Context, name string) ([]json.RawMessage, error) {
	return use(p, name, func(s *server) ([]json.RawMessage, error) { return s.tools(ctx) })
}

// Fresh is for how long a server that runs has said that its list of tools is good; 0 where it has not. Many say 0
// themselves, for want of anything better: then it is as if they said nothing.
func (p *Pool) Fresh(name string) (fresh time.Duration) {
	if s, err := p.server(name); err == nil {
		s.update(func(st *serverState) {
			if st.live != nil {
				fresh = time.Duration(st.live.fresh.Load())
			}
		})
	}
	return fresh
}

// Refresh has the next Tools ask the server again, for a caller that expects a tool it has not seen: the
// notice that a list has changed may come later than the answer that speaks of a new tool.
func (p *Pool) Refresh(name string) {
	if s, err := p.server(name); err == nil {
		s.update(func(st *serverState) { st.stale = true })
	}
}

// Call calls a tool and returns the server's CallToolResult as it sent it. args is a JSON object; nothing
// is an empty one. When ctx ends, Call returns its cause at once and tells the server.
func (p *Pool) Call(ctx context.Context, name, tool string, args json.RawMessage) (json.RawMessage, error) {
	return use(p, name, func(s *server) (json.RawMessage, error) { return s.call(ctx, tool, nil, args) })
}

// CallListed is Call of a tool that the server lists by this definition. A server that has come back with another one
// gets no call: the error is ErrRedefined then.
func (p *Pool) CallListed(
	ctx context.Context, name, tool string, definition, args json.RawMessage,
) (json.RawMessage, error) {
	return use(p, name, func(s *server) (json.RawMessage, error) { return s.call(ctx, tool, definition, args) })
}

// Request asks a server for something that is no call of a tool, and returns the answer as the server sent it. Of a
// list it is one page with the entries of all. A server that does not offer such a thing is not asked.
func (p *Pool) Request(ctx context.Context, name string, r Request) (json.RawMessage, error) {
	return use(p, name, func(s *server) (json.RawMessage, error) { return s.request(ctx, r) })
}

func (p *Pool) server(name string) (*server, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s, ok := p.servers[name]; ok {
		return s, nil
	}
	return nil, fmt.Errorf("%w %q", ErrUnknownServer, name)
}

// respond answers what the server asks.
func (s *server) respond(ctx context.Context, of About, request mcp.InputRequest) (mcp.InputResponse, error) {
	if s.pool.opts.Answer == nil {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "this client answers nothing"}
	}
	return s.pool.opts.Answer(ctx, s.config.Name, of, request)
}

// Close fails the calls under way, stops every server and waits for that. It is idempotent.
func (p *Pool) Close() error {
	p.mu.Lock()
	p.closed = true
	for _, s := range p.servers {
		s.retire(errClosed)
	}
	p.mu.Unlock()
	p.end(errClosed)
	p.work.Wait()
	return nil
}

// Hurry has Close, and all else that stops servers, skip the grace period: servers that have not ended are killed.
func (p *Pool) Hurry() { p.hurries() }

// Running are the names of the servers that have started and not ended yet.
func (p *Pool) Running() (names []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for name, s := range p.servers {
		s.update(func(st *serverState) {
			if st.live != nil {
				names = append(names, name)
			}
		})
	}
	slices.Sort(names)
	return names
}

// Process is the id of what all processes of a server are below while it runs; 0 where it has none on this machine.
func (p *Pool) Process(name string) (pid int) {
	if s, err := p.server(name); err == nil {
		s.update(func(st *serverState) {
			if st.live == nil {
				return
			}
			if conn, ok := st.live.conn.(*stdio); ok {
				pid = conn.process.Root()
			}
		})
	}
	return pid
}

// timeoutError is a deadline of this package's. It is a context.DeadlineExceeded to those who ask.
type timeoutError struct {
	what  string
	limit time.Duration
}

func (e *timeoutError) Error() string        { return fmt.Sprintf("%s took longer than %v", e.what, e.limit) }
func (e *timeoutError) Timeout() bool        { return true }
func (e *timeoutError) Is(target error) bool { return target == context.DeadlineExceeded }

// withLimit is ctx with a deadline, unless limit is 0.
func withLimit(ctx context.Context, what string, limit time.Duration) (context.Context, context.CancelFunc) {
	if limit <= 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, limit, &timeoutError{what, limit})
}

// A future is a value that one goroutine makes and any number wait for.
type future[T any] struct {
	done  chan struct{}
	value T
	err   error
}

func newFuture[T any]() *future[T] { return &future[T]{done: make(chan struct{})} }

func (f *future[T]) resolve(value T, err error) {
	f.value, f.err = value, err
	close(f.done)
}

func (f *future[T]) wait(ctx context.Context) (T, error) {
	select {
	case <-f.done:
		return f.value, f.err
	case <-ctx.Done():
		var zero T
		return zero, context.Cause(ctx)
	}
}
