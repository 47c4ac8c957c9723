package bridge

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
	"time"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"codemode/internal/catalog"
	"codemode/internal/inquiry"
	"codemode/internal/telemetry"
	"codemode/internal/visible"
)

// runPython is the one tool. Its definition never names a server, so that it costs the model the same few tokens
// however many there are, and prompt caches keep it.
func (b *Bridge) runPython() *mcp.Tool {
	limits := b.opts.Config.Run
	destructive := true // openWorldHint is true where it is left out
	return &mcp.Tool{
		Name:        "run_python",
		Title:       "Run Python",
		Annotations: &mcp.ToolAnnotations{DestructiveHint: &destructive},
		Description: "Sandboxed Python: " + b.libraries() + ", no network or host files. " +
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
func (b *Bridge) Serve(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error {
	s := mcp.NewServer(&mcp.Implementation{Name: "codemode", Version: b.opts.Version}, &mcp.ServerOptions{
		Logger: slog.New(demoteInfoHandler{b.log.Handler()}), Instructions: b.instructions(),
		Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}, Resources: &mcp.ResourceCapabilities{}},
	})
	calls := newRounds(ctx, b)
	defer calls.close()
	s.AddTool(b.runPython(), func(run context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return calls.handle(ctx, run, req, calls.runPython).(*mcp.CallToolResult), nil
	})
	b.addExposed(ctx, s, calls)
	b.addResources(s)
	s.AddReceivingMiddleware(b.meet)
	return serveConn(ctx, s, in, out, b.log)
}

// meet notes who the client is before anything is done for it.
func (b *Bridge) meet(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if s, ok := req.GetSession().(*mcp.ServerSession); ok {
			if p := s.InitializeParams(); p != nil && p.Capabilities != nil {
				c := Client{Can: p.Capabilities, Opened: func(ctx context.Context, id string) error {
					return s.NotifyElicitationComplete(ctx, &mcp.ElicitationCompleteParams{ElicitationID: id})
				}}
				if p.ProtocolVersion < severalRounds {
					c.Roots = inquiry.InTurn(request(s))
				}
				b.Meet(c)
			}
		}
		return next(ctx, method, req)
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
	writer := newAbandonableWriter(out)
	defer context.AfterFunc(ctx, writer.leave)()
	answers := answerWriter{writer, &inFlight{}}
	messages := newMessageReader(in, writer, answers.inFlight, func() {
		answers.inFlight.wait(writer.leaving)
		writer.leave()
	}, log)
	session, err := s.Connect(ctx, &mcp.IOTransport{Reader: messages, Writer: answers, MaxLineLength: maxMessage}, nil)
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

// caller is what a run knows of the client that wants it.
type caller struct {
	ask     Asker  // nil where nobody can be asked
	unasked string // why
	respond inquiry.Responder
	can     *mcp.ClientCapabilities

	progress func(text string) // tells it what servers say of calls
	client   string            // its name
	parent   telemetry.Parent
}

// call is one call of run_python, from its arguments as the client sent them.
func (b *Bridge) call(ctx context.Context, arguments json.RawMessage, from caller) Outcome {
	req, notes, err := b.parse(arguments)
	if err != nil {
		return invalid("%v", err)
	}
	req.Ask, req.Unasked, req.Client, req.Parent = from.ask, from.unasked, from.client, from.parent
	req.Respond, req.Can, req.Progress = from.respond, from.can, from.progress
	out := b.Run(ctx, req)
	out.Notes = append(notes, out.Notes...)
	if limit := b.opts.Config.Run.MaxTimeout; out.Status == StatusTimeout && req.Timeout < limit {
		out.Notes = append(out.Notes, fmt.Sprintf("timeout may be up to %g s", limit.Seconds()))
	}
	return out
}

// parse checks the arguments of a call. A field's name is the first word of every error.
func (b *Bridge) parse(arguments json.RawMessage) (req Request, notes []string, err error) {
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
	req.Timeout, notes, err = b.timeout(a.Timeout)
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
func (b *Bridge) timeout(v json.RawMessage) (time.Duration, []string, error) {
	limits := b.opts.Config.Run
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
		if name := b.opts.Config.Variables["run.max_timeout"]; name != "" {
			limit += " of " + name
		}
		return limits.MaxTimeout, []string{
			fmt.Sprintf("timeout %g s is more than %s, so %g s applied", n, limit, ceiling),
		}, nil
	}
	return time.Duration(n) * time.Second, nil, nil
}
