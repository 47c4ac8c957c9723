//lint:file-ignore SA1019 sampling, roots and logging are deprecated since MCP 2026-07-28, and servers of today use them

package upstream

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/tidwall/gjson"

	"codemode/internal/proc"
	"codemode/internal/redact"
)

// connection is one way to a server, as long as it lasts.
type connection interface {
	mcp.Transport
	end(
		client *mcp.ClientSession, grace time.Duration,
	) // ends it and every goroutine of it; client is nil before there is one
	exit() error                     // how it has ended
	stderr() (text string, cut bool) // the last that a process wrote there
	place() slog.Attr                // where the server is, for the log
}

// session is one connection to a server and the MCP session over it. The server's run goroutine stops it.
type session struct {
	server  *server
	conn    connection // nil as long as there is none
	calls   *calls     // on the connection
	client  *mcp.ClientSession
	secrets sessionSecrets
	tools   []json.RawMessage // as listed at the start
	began   time.Time
	started atomic.Bool   // what it writes to stderr is no longer reported as progress of its start
	ended   chan struct{} // closed when the process is gone and the server knows it
	end     error         // how the process ended; set before ended is closed

	tellsRoots bool         // when they have changed
	fresh      atomic.Int64 // for how long the server says that its list of tools is good; 0 where it does not
}

// The revisions of the protocol that are tried, in this order.
//
// Left to itself, the SDK (v1.8) opens with the server/discover of 2026-07-28 and falls back to initialize when
// that is refused. A server written before need not refuse it: it may ignore a method it does not know, or
// end. By revision 2025-11-25 "the initialization phase MUST be the first interaction"
// (https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle, its source read November 2026). So
// initialize comes first, and the newer way only for a server that refuses it; that one is started afresh.
const (
	legacyProtocol = "2025-11-25"
	newestProtocol = "2026-07-28"
)

// Grace for each step of ending a process: a healthy server's, one that has closed its output or never got
// through its start.
const (
	stopGrace   = 2 * time.Second
	brokenGrace = 250 * time.Millisecond
)

// refusesInitialize says whether a start failed because the server answers initialize with an error that a
// server of the newest revision alone would give.
func refusesInitialize(err *StartError) bool {
	var wire *jsonrpc.Error
	if err.Step != "initialize" || !errors.As(err, &wire) {
		return false
	}
	switch wire.Code {
	case jsonrpc.CodeMethodNotFound,
		jsonrpc.CodeInvalidRequest,
		jsonrpc.CodeInvalidParams,
		mcp.CodeUnsupportedProtocolVersion:
		return true
	}
	return false
}

// startSession connects to the server, initializes the session and lists the tools.
func startSession(ctx context.Context, s *server, protocol string, sse bool) (_ *session, failed *StartError) {
	sess := &session{server: s, began: time.Now(), ended: make(chan struct{}), secrets: sessionSecrets{told: &s.told}}
	sess.secrets.add(s.entrySecrets(s.config))
	if err := sess.open(ctx, sse); err != nil {
		return nil, sess.startError(ctx, "starting", err)
	}
	can := *s.pool.opts.Offers()
	can.Extensions = maps.Clone(can.Extensions)
	sess.tellsRoots = can.RootsV2 != nil && can.RootsV2.ListChanged
	client := mcp.NewClient(&mcp.Implementation{Name: "codemode", Version: s.pool.opts.Version}, &mcp.ClientOptions{
		Capabilities:           &can,
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { s.toolsChanged() },
		LoggingMessageHandler:  sess.logMessage,
		ElicitationCompleteHandler: func(ctx context.Context, req *mcp.ElicitationCompleteNotificationRequest) {
			sess.calls.opened(req.Params.ElicitationID)
			s.pool.opts.OnOpened(ctx, s.config.Name, req.Params.ElicitationID)
		},
		MultiRoundTrip: &mcp.MultiRoundTripOptions{Disabled: true}, // ask does it, for answers stay as they are
	})
	sess.addMiddleware(client)
	step, err := "initialize", error(nil)
	if protocol == newestProtocol {
		if err := offerTasks(client, &can); err != nil {
			return nil, sess.startError(ctx, step, err)
		}
	}
	sess.client, err = client.Connect(ctx, sess.conn, &mcp.ClientSessionOptions{ProtocolVersion: protocol})
	if r, ok := sess.conn.(*remote); ok && err == nil {
		r.wanted(nil)
		r.watch(sess.client)
	}
	if err == nil {
		step = "tools/list"
		sess.tools, _, err = sess.listTools(ctx)
	}
	if err == nil && sess.isSelf() && !s.pool.opts.AllowSelf && !s.pool.opts.AsClient {
		err = errSelf
	}
	if err != nil {
		if r, ok := sess.conn.(*remote); ok && r.denied.Load() != nil {
			err = r.denied.Load() // after which the SDK has tried the older way of beginning
		}
		lost := sess.calls.isLost()
		sess.shut(brokenGrace)
		if lost && ctx.Err() == nil {
			err = sess.ending()
		}
		return nil, sess.startError(ctx, step, err)
	}
	sess.started.Store(true)
	sess.wantLog()
	return sess, nil
}

// open makes the connection.
func (sess *session) open(ctx context.Context, sse bool) error {
	s := sess.server
	if s.isRemote() {
		meant := &redact.Secrets{}
		c, err := s.expanded(meant)
		sess.secrets.add(meant)
		sess.calls = sess.newCalls()
		if err == nil {
			sess.conn, err = newRemote(c, sse, sess.secrets.withToken(s.pool.opts), sess.calls, &s.reached)
		}
		return err
	}
	meant := &redact.Secrets{}
	spec, err := s.spec(meant)
	sess.secrets.add(meant)
	if err != nil {
		return err
	}
	sess.calls = sess.newCalls()
	said := newPace(sess.calls.pace.ctx, &s.pool.unread)
	spec.StderrLine, spec.StderrPace = said.stderr(sess.logStderr)
	spec.Hurry = s.pool.hurry.Done()
	process, err := proc.Start(ctx, spec)
	if err != nil {
		sess.calls.finish()
		sess.calls = nil
		return err
	}
	sess.conn = newStdio(process, s.pool.opts.MaxMessage, sess.calls)
	return nil
}

// startError is the *StartError of a start, or of a listing, that brought err. The process, if there is one,
// may still run.
func (sess *session) startError(ctx context.Context, step string, err error) *StartError {
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	c := sess.server.config
	e := &StartError{
		Server: c.Name, Step: step, Err: sess.secrets.forCode().Error(plainly(err)),
		Restrictions: c.Sandbox, Source: c.Source,
	}
	if sess.conn != nil {
		e.Stderr = sess.stderr()
	}
	return e
}

// errSelf is a server behind which there is codemode: what starts it hides that, and takes the depth variable away.
var errSelf = errors.New("it is codemode itself, which would start every server again; it is not used")

// isSelf says whether the server is a codemode, by what it says of itself. Others may bear the name.
func (sess *session) isSelf() bool {
	init := sess.client.InitializeResult()
	return init != nil && init.ServerInfo != nil && init.ServerInfo.Name == "codemode" &&
		slices.ContainsFunc(
			sess.tools, func(t json.RawMessage) bool { return gjson.GetBytes(t, "name").String() == "run_python" },
		)
}

// ending is how the session ended: by what it did wrong, else as its process did, which has ended.
func (sess *session) ending() error {
	if fault := sess.calls.fault(); fault != nil {
		return fault
	}
	return fmt.Errorf("the server ended: %w", sess.conn.exit())
}

// stop ends the session: at once for its calls, with the grace it deserves for the process. What it returns is why
// the server would be left alone for a while.
func (sess *session) stop(ctx context.Context) *StartError {
	grace := stopGrace
	if sess.calls.isBroken() {
		grace = brokenGrace
	}
	if ctx.Err() != nil {
		sess.calls.cancelAll(context.Cause(ctx))
	}
	sess.shut(grace)
	if sess.end = sess.secrets.forCode().Error(sess.calls.fault()); sess.end == nil {
		sess.end = sess.conn.exit()
	}
	c := sess.server.config
	return &StartError{
		Server: c.Name, Step: "starting", Err: sess.end, Stderr: sess.stderr(), Restrictions: c.Sandbox,
		Source: c.Source,
	}
}

// shut ends the process and every goroutine of the session.
func (sess *session) shut(grace time.Duration) {
	sess.conn.end(sess.client, grace)
}

func (sess *session) stderr() string {
	text, cut := sess.conn.stderr()
	return sess.secrets.forCode().Tail(text, cut)
}

func (sess *session) logStderr(line string, cut bool) {
	if !sess.started.Load() && strings.TrimSpace(line) != "" {
		sess.server.pool.opts.Progress(sess.server.config.Name, sess.secrets.redactor().Head(line, cut))
	}
	log := sess.server.log
	if log.Enabled(context.Background(), slog.LevelDebug) {
		log.Debug("stderr", "line", sess.secrets.redactor().Head(line, cut))
	}
}

// What the definitions of tools may have. The guest of every session parses them, and a value of two bytes takes it 64.
const (
	maxDefinition  = 1 << 20 // bytes of one
	maxDefinitions = 8 << 20
)

// listTools returns the definitions of all pages as the server sent them, and the size of those pages.
func (sess *session) listTools(ctx context.Context) (tools []json.RawMessage, read int, err error) {
	tools = []json.RawMessage{}
	size, large := 0, ""
	var seen *mcp.ListToolsResult
	fresh := time.Duration(math.MaxInt64)
	err = everyPage("tools", func(cursor string) (page json.RawMessage, err error) {
		slot := &slot{}
		seen, err = sess.client.ListTools(withSlot(ctx, slot), &mcp.ListToolsParams{Cursor: cursor})
		page, refusal := sess.calls.take(slot)
		read += len(page)
		if ms := gjson.GetBytes(page, "ttlMs").Float(); ms >= 1 && ms < float64(fresh/time.Millisecond) {
			fresh = time.Duration(ms) * time.Millisecond
		}
		return page, cmp.Or(refusal, err)
	}, func(tool gjson.Result) {
		size += len(tool.Raw)
		switch {
		case len(tool.Raw) > maxDefinition:
			large = tool.Get("name").String()
		case callable(tool, seen):
			tools = append(tools, json.RawMessage(tool.Raw))
		}
	})
	switch {
	case isMethodNotFound(err):
		return tools, read, nil // a server without tools
	case err == nil && large != "":
		large = sess.secrets.forCode().Text(large)
		err = fmt.Errorf("the definition of its tool %.100q has more than %d bytes", large, maxDefinition)
	case err == nil && size > maxDefinitions:
		err = fmt.Errorf("the definitions of its tools have %d bytes, more than %d", size, maxDefinitions)
	}
	if err != nil {
		return nil, read, err
	}
	if sess.fresh.Store(0); fresh < math.MaxInt64 && sess.speaksNewest() {
		sess.fresh.Store(int64(fresh))
	}
	return tools, read, nil
}

// callable says whether a tool can be called: the SDK leaves out those whose arguments cannot be made headers of, as it
// must by revision 2026-07-28 ("clients MUST reject" a definition with an invalid x-mcp-header).
func callable(tool gjson.Result, seen *mcp.ListToolsResult) bool {
	if seen == nil || !strings.Contains(tool.Raw, `"x-mcp-header"`) {
		return true
	}
	name := tool.Get("name").String()
	return slices.ContainsFunc(seen.Tools, func(t *mcp.Tool) bool { return t.Name == name })
}

func isMethodNotFound(err error) bool {
	var wire *jsonrpc.Error
	return errors.As(err, &wire) && wire.Code == jsonrpc.CodeMethodNotFound
}

// errNotSent is a call that never left because the session had ended.
var errNotSent = errors.New("the server ended before the call was sent")

// call calls a tool.
func (sess *session) call(ctx context.Context, tool string, args json.RawMessage) (json.RawMessage, error) {
	if len(args) == 0 || string(args) == "null" {
		args = json.RawMessage("{}")
	}
	done := sess.server.pool.opts.Wire.Turn(ctx, len(args))
	sess.secrets.sends(tool, args)
	done()
	what := fmt.Sprintf("tool %q of server %q", tool, sess.server.config.Name)
	answer, err := sess.ask(ctx, tool, what, func(ctx context.Context, meta mcp.Meta, g given) error {
		_, err := sess.client.CallTool(ctx, &mcp.CallToolParams{
			Name: tool, Arguments: args, Meta: meta, InputResponses: g.responses, RequestState: g.state,
		})
		return err
	})
	if err != nil {
		return nil, err
	}
	answer, err = sess.settled(ctx, tool, what, answer)
	if err == nil && IsError(answer) {
		defer sess.server.pool.opts.Wire.Failure(ctx, len(answer))()
		answer = sess.secrets.failure(answer)
	}
	return answer, err
}

// sending sends a request, with what the server has been given since it was sent first.
type sending func(context.Context, mcp.Meta, given) error

// ask has a request sent, and returns its answer as the server sent it. name and what say to errors what is asked for.
func (sess *session) ask(ctx context.Context, name, what string, send sending) (json.RawMessage, error) {
	var g given
	over := func() {}
	defer func() { over() }()
	for round := range maxRounds {
		result, err := sess.round(ctx, name, what, func(ctx context.Context, meta mcp.Meta) error {
			return send(ctx, meta, g)
		})
		switch {
		case round > 0 && errors.Is(err, errNotSent):
			return nil, sess.callError(ctx, name, errors.New("the server ended after it had asked something"))
		case wantsURL(err):
			wire := sess.server.pool.opts.Wire
			wire.Refused(ctx)
			if err = sess.openFirst(ctx, err); err == nil {
				err = cmp.Or(sess.calls.again(ctx), wire.Again(ctx))
			}
			if err != nil {
				return nil, err
			}
			continue
		case err != nil || !sess.inputRequired(result):
			return result, err
		}
		over()
		if over, err = sess.calls.waits(len(result)); err != nil { // its state goes back with the answers
			return nil, sess.callError(ctx, name, err)
		}
		if g, err = sess.input(ctx, result, nil); err != nil && ctx.Err() != nil {
			return nil, context.Cause(ctx)
		} else if err != nil {
			return nil, sess.callError(ctx, name, err)
		}
	}
	return nil, sess.callError(ctx, name, fmt.Errorf("the server answered %d times with a question", maxRounds))
}

// round sends a request once.
func (sess *session) round(
	ctx context.Context, name, what string, send func(context.Context, mcp.Meta) error,
) (json.RawMessage, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	slot := &slot{ctx: ctx, cancel: cancel, wire: sess.server.pool.opts.Wire}
	_, slot.again = ctx.Value(againKey{}).(bool)
	slot.limit(cmp.Or(sess.server.config.CallTime, sess.server.pool.opts.CallTimeout), what)
	meta := mcp.Meta{}
	for key, value := range sess.server.pool.opts.Meta(ctx) {
		meta[key] = value
	}
	meta["progressToken"] = sess.calls.expect(slot)
	if sess.speaksNewest() {
		meta[mcp.MetaKeyLogLevel] = sess.wantedLevel()
	}
	err := send(withSlot(ctx, slot), meta)
	result, refusal := sess.calls.take(slot)
	switch {
	case result != nil:
		slot.wire.Answered(ctx, len(result))
		return result, nil
	case ctx.Err() != nil: // of which the server may have been told already, and say so
		return nil, context.Cause(ctx)
	case refusal != nil:
		return nil, sess.callError(ctx, name, refusal)
	case isMalformed(err):
		return nil, sess.callError(ctx, name, errors.New("the arguments are not valid JSON"))
	case err == nil || !sess.over(err):
		if sess.isRemote() && slot.sent && !isAnswer(err) {
			e := sess.callError(ctx, name, withWay(fmt.Errorf("no answer came: %w", brokenOff(err))))
			e.Crashed = true
			return nil, e
		}
		return nil, sess.callError(ctx, name, withWay(plainly(err)))
	}
	select {
	case <-sess.ended:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if !slot.sent {
		return nil, errNotSent
	}
	during := "the server ended during the call: %w"
	if sess.isRemote() {
		during = "no answer came: %w"
	}
	e := sess.callError(ctx, name, fmt.Errorf(during, sess.end))
	e.Crashed, e.Stderr = true, sess.stderr()
	return nil, e
}

// repeatable says whether a call of a tool may be made again when nobody knows what became of it: the server lists it
// as one that reads, or whose second call with the same arguments changes nothing.
func (sess *session) repeatable(tool string) bool {
	return slices.ContainsFunc(sess.tools, func(t json.RawMessage) bool {
		hints := gjson.GetManyBytes(t, "name", "annotations.readOnlyHint", "annotations.idempotentHint")
		return hints[0].Str == tool && (hints[1].Bool() || hints[2].Bool())
	})
}

// over says whether an error is the session's end.
func (sess *session) over(err error) bool {
	var answer *url.Error                                        // where the end is that of one connection alone
	closed := errors.Is(err, io.EOF) && !errors.As(err, &answer) // the SDK's word for a stream of HTTP with SSE
	if closed || errors.Is(err, mcp.ErrConnectionClosed) || errors.Is(err, mcp.ErrSessionMissing) {
		sess.calls.breaks() // which may not have been seen yet
	}
	return sess.calls.isBroken()
}

// isRemote says whether the server is reached by URL.
func (sess *session) isRemote() bool {
	_, ok := sess.conn.(*remote)
	return ok
}

// isMalformed says whether the arguments were no JSON.
func isMalformed(err error) bool {
	var marshal *json.MarshalerError
	return errors.As(err, &marshal)
}

// callError is the error of a call, without secrets.
func (sess *session) callError(ctx context.Context, tool string, err error) *CallError {
	if err == nil {
		err = errors.New("no answer")
	}
	var wire *jsonrpc.Error
	if errors.As(err, &wire) {
		defer sess.server.pool.opts.Wire.Failure(ctx, len(wire.Message)+len(wire.Data))()
	}
	sess.server.pool.opts.Wire.Answered(ctx, passedOver(err))
	e := &CallError{Server: sess.server.config.Name, Tool: tool, Err: sess.secrets.forCode().Error(err)}
	var refused *refusedError
	switch {
	case wire != nil:
		if code := strconv.FormatInt(wire.Code, 10); sess.secrets.forCode().Text(code) == code {
			e.Code = wire.Code
		}
		e.Data = sess.secrets.failure(wire.Data)
	case !errors.As(err, &refused):
		e.Unclear = true
	}
	return e
}
