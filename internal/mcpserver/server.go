//lint:file-ignore SA1019 sampling, roots and logging are deprecated since MCP 2026-07-28, and servers of today use them

// Package mcpserver is codemode as MCP clients see it: one tool, resources, and what servers are exposed beside it.
//
// It owns the protocol towards the client: messages and their bounds, rounds of a call, what a user is asked in which
// form, and how an outcome is written. It never runs code and decides nothing, which a bridge does. A [Server] holds
// nothing that must be closed; Serve ends with its client or its context.
package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"codemode/internal/bridge"
	"codemode/internal/catalog"
	"codemode/internal/config"
	"codemode/internal/inquiry"
	"codemode/internal/visible"
)

// runPython is the name of the one tool.
const runPython = "run_python"

// Options is what a server is made from.
type Options struct {
	Config  config.Config
	Version string
	Log     *slog.Logger // over LogHandler, so that its lines name their run
	// Packages names what the interpreter that sandbox.python names has beside the standard library.
	Packages  func(context.Context) ([]string, error)
	Artifacts bool // the bridge keeps files that code leaves
}

// Server is codemode as MCP clients see it, over a bridge that somebody else closes.
type Server struct {
	bridge func() *bridge.Bridge
	known  *Names         // nil asks the bridge
	making sync.WaitGroup // of a late bridge
	opts   Options
}

// New returns a server. It holds nothing that must be closed.
func New(b *bridge.Bridge, opts Options) *Server {
	return &Server{bridge: func() *bridge.Bridge { return b }, opts: opts}
}

// NewLate is New for a bridge that made, which is asked again and again, makes once initialize is answered, for which
// these are the names of its servers.
func NewLate(made func() *bridge.Bridge, known Names, opts Options) *Server {
	return &Server{bridge: made, known: &known, opts: opts}
}

// definition is the one tool. Its definition never names a server, so that it costs the model the same few tokens
// however many there are, and prompt caches keep it.
func (s *Server) definition() *mcp.Tool {
	limits := s.opts.Config.Run
	destructive := true // openWorldHint is true where it is left out
	return &mcp.Tool{
		Name:        runPython,
		Title:       "Run Python",
		Annotations: &mcp.ToolAnnotations{DestructiveHint: &destructive},
		Description: "Sandboxed Python: " + s.libraries() + ", no network or host files. " +
			"Top-level await; variables persist. MCP servers: `await mcp_<server>.<tool>(...)`. " +
			"Find tools: `await runtime.search_tool_docs('what')`, `runtime.discovered_servers()`, " +
			"`await runtime.query_tool_docs('server')`. Returns prints, the last expression, images.",
		InputSchema: json.RawMessage(`{"type":"object","properties":{` +
			`"code":{"type":"string"},` +
			`"servers":{"type":"array","items":{"type":"string"},"description":"only these"},` +
			fmt.Sprintf(`"timeout":{"type":"integer","description":"seconds; default %g, max %g"},`,
				limits.Timeout.Seconds(), limits.MaxTimeout.Seconds()) +
			`"session":{"type":"string"}},"required":["code"]}`),
	}
}

// Serve answers MCP over the given streams until the client goes away, which is not an error, or ctx ends.
// It answers initialize before it does anything else: sandbox and servers start when code needs them.
func (s *Server) Serve(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error {
	sdk := mcp.NewServer(&mcp.Implementation{Name: "codemode", Version: s.opts.Version}, &mcp.ServerOptions{
		Logger: slog.New(demoteInfoHandler{s.opts.Log.Handler()}), Instructions: s.instructions(),
		Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}, Resources: &mcp.ResourceCapabilities{}},

		RootsListChangedHandler: func(context.Context, *mcp.RootsListChangedRequest) { s.bridge().RootsChanged() },
	})
	calls := newRounds(ctx, s)
	defer s.making.Wait()
	defer calls.close()
	sdk.AddTool(s.definition(), func(run context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return calls.handle(ctx, run, req, calls.runPython).(*mcp.CallToolResult), nil
	})
	s.addExposed(ctx, sdk, calls)
	s.addResources(sdk)
	sdk.AddReceivingMiddleware(s.meet)
	return serveConn(ctx, sdk, in, out, s.opts.Log)
}

// meet notes who the client is before anything is done for it.
func (s *Server) meet(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if session, ok := req.GetSession().(*mcp.ServerSession); ok {
			if p := session.InitializeParams(); p != nil && p.Capabilities != nil {
				c := bridge.Client{Can: p.Capabilities, Opened: func(ctx context.Context, id string) error {
					return session.NotifyElicitationComplete(ctx, &mcp.ElicitationCompleteParams{ElicitationID: id})
				}}
				if p.ProtocolVersion < severalRounds {
					c.Roots = inquiry.InTurn(request(session))
				}
				s.bridge().Meet(c)
			}
		}
		result, err := next(ctx, method, req)
		if s.known != nil && method == "initialize" {
			s.making.Go(func() { s.bridge() }) // before it is needed
		}
		return result, err
	}
}

// Refuse answers whatever a client asks with why, until it goes away or ctx ends: a server that just ended would leave
// its user to guess.
func Refuse(
	ctx context.Context, in io.ReadCloser, out io.WriteCloser, version string, why error, log *slog.Logger,
) error {
	s := mcp.NewServer(
		&mcp.Implementation{Name: "codemode", Version: version},
		&mcp.ServerOptions{Logger: slog.New(demoteInfoHandler{log.Handler()})},
	)
	s.AddReceivingMiddleware(func(mcp.MethodHandler) mcp.MethodHandler {
		return func(context.Context, string, mcp.Request) (mcp.Result, error) {
			return nil, &jsonrpc.Error{Code: inquiry.CodeRefused, Message: why.Error()}
		}
	})
	return serveConn(ctx, s, in, out, log)
}

// serveConn lets a server serve one client.
func serveConn(ctx context.Context, s *mcp.Server, in io.ReadCloser, out io.WriteCloser, log *slog.Logger) error {
	c := newConnection(in, out, log)
	defer context.AfterFunc(ctx, c.out.leave)()
	session, err := s.Connect(ctx, c, nil)
	if err != nil {
		return fmt.Errorf("serving MCP: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- session.Wait() }()
	select {
	case err = <-ended:
	case <-ctx.Done():
		_ = session.Close()
		<-ended
		return context.Cause(ctx)
	}
	// The SDK reports a client that left in the middle of a call as an error of its own; to us every way
	// the stream can end is the client's good right.
	log.Debug("client went away", "error", err)
	return nil
}

// call is one call of run_python, from its arguments as the client sent them.
func (s *Server) call(ctx context.Context, arguments json.RawMessage, from bridge.Request) bridge.Outcome {
	req, notes, err := s.parse(arguments, from)
	if err != nil {
		return bridge.Invalid("%v", err)
	}
	out := s.bridge().Run(ctx, req)
	out.Notes = append(notes, out.Notes...)
	if limit := s.opts.Config.Run.MaxTimeout; out.Status == bridge.StatusTimeout && req.Timeout < limit {
		out.Notes = append(out.Notes, fmt.Sprintf("timeout may be up to %g s", limit.Seconds()))
	}
	return out
}

// parse adds the arguments of a call to what is known of its caller. A field's name is the first word of every error.
func (s *Server) parse(arguments json.RawMessage, req bridge.Request) (_ bridge.Request, notes []string, err error) {
	var a struct{ Code, Servers, Timeout, Session json.RawMessage }
	if err := fields(arguments, map[string]*json.RawMessage{
		"code": &a.Code, "servers": &a.Servers, "timeout": &a.Timeout, "session": &a.Session,
	}); err != nil {
		return req, nil, err
	}
	if given(a.Code) {
		if json.Unmarshal(a.Code, &req.Code) != nil {
			return req, nil, errors.New("code: must be a string of Python source")
		}
	}
	if strings.TrimSpace(req.Code) == "" {
		return req, nil, errors.New("code: is missing or blank; give Python source")
	}
	if given(a.Servers) {
		var one string
		req.Servers = []string{}
		if json.Unmarshal(a.Servers, &one) == nil { // models write one name so now and then
			req.Servers = []string{one}
		} else if json.Unmarshal(a.Servers, &req.Servers) != nil {
			return req, nil, errors.New(`servers: must be a list of server names, such as ["github"]`)
		}
	}
	if given(a.Session) {
		if json.Unmarshal(a.Session, &req.Session) != nil || !sessionName(req.Session) {
			return req, nil, errors.New(
				"session: must be a name of 1 to 64 letters, digits, dots, dashes and underscores, " +
					"and begin with neither dot nor dash",
			)
		}
	}
	req.Timeout, notes, err = s.timeout(a.Timeout)
	return req, notes, err
}

// fields splits an object into its members. One that is not known is refused: ignored, a misspelt one would seem to
// work.
func fields(object json.RawMessage, known map[string]*json.RawMessage) error {
	if len(object) == 0 {
		return nil
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(object, &members) != nil {
		return errors.New("arguments: must be an object")
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		to, ok := known[name]
		if !ok {
			shown, names := visible.Line(visible.Clip(name, visible.MaxName)), slices.Sorted(maps.Keys(known))
			if near := nearArgument(name, names); near != "" {
				return fmt.Errorf("%s: there is no such argument; did you mean %q?", shown, near)
			}
			return fmt.Errorf(
				"%s: there is no such argument; there are %s", shown,
				strings.Join(names, ", "),
			)
		}
		*to = members[name]
	}
	return nil
}

// nearArgument is the argument that a name was meant to be: one that is written much the same, or that is a part of it,
// as of timeout_seconds.
func nearArgument(name string, names []string) string {
	if near := catalog.Suggest(name, names); near != "" {
		return near
	}
	within := func(known string) bool {
		return strings.Contains(strings.ToLower(name), strings.TrimSuffix(known, "s"))
	}
	if i := slices.IndexFunc(names, within); i >= 0 {
		return names[i]
	}
	return ""
}

func given(v json.RawMessage) bool { return len(v) > 0 && string(v) != "null" }

func sessionName(s string) bool {
	if s == "" || s[0] == '.' || s[0] == '-' || utf8.RuneCountInString(s) > 64 {
		return false
	}
	return !strings.ContainsFunc(s, func(r rune) bool {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		return !(letter || r >= '0' && r <= '9' || r == '.' || r == '-' || r == '_')
	})
}

// timeout resolves the timeout of a call: whole seconds, clamped to the ceiling.
func (s *Server) timeout(v json.RawMessage) (time.Duration, []string, error) {
	limits := s.opts.Config.Run
	if !given(v) {
		return limits.Timeout, nil, nil
	}
	var n float64
	var text string
	if json.Unmarshal(v, &text) == nil { // models write numbers as text now and then
		v = json.RawMessage(strings.TrimSpace(text))
	}
	ceiling := limits.MaxTimeout.Seconds()
	if json.Unmarshal(v, &n) != nil || n != math.Trunc(n) || n < 1 {
		return 0, nil, fmt.Errorf("timeout: must be a whole number of seconds from 1 to %g", ceiling)
	}
	if n > ceiling {
		limit := "the limit"
		if name := s.opts.Config.Variables["run.max_timeout"]; name != "" {
			limit += " of " + name
		}
		return limits.MaxTimeout, []string{
			fmt.Sprintf("timeout %g s is more than %s, so %g s applied", n, limit, ceiling),
		}, nil
	}
	return time.Duration(n) * time.Second, nil, nil
}
