package bridge

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"strconv"
	"time"

	"codemode/internal/guest"
	"codemode/internal/telemetry"
	"codemode/internal/upstream"
	"codemode/internal/visible"
)

// beginRun begins what is told of a run, in the log and in a trace: what is done for it is done in the context
// returned.
func (b *Bridge) beginRun(ctx context.Context, id string, req Request) (context.Context, *telemetry.Span) {
	ctx, span := b.opts.Telemetry.Run(withLogged(ctx, id, req.Session), telemetry.Run{
		ID: id, Session: req.Session, Tenant: b.opts.Config.Tenant, Program: req.Script, Parent: req.Parent,
	})
	b.log.DebugContext(ctx, "run begins", "client", req.Client)
	return ctx, span
}

// endRun tells what came of a run. The program's own words are not codemode's to log.
func (b *Bridge) endRun(ctx context.Context, span *telemetry.Span, out Outcome, took time.Duration) {
	class := map[Status]string{
		StatusError: "tool_error", StatusTimeout: "timeout", StatusCancelled: "cancelled",
		StatusValidationError: "invalid",
	}[out.Status]
	span.End(string(out.Status), class)
	attrs := []any{"outcome", out.Status, "calls", out.Receipt.Calls, "ms", ms(took)}
	if out.Err != nil {
		b.log.WarnContext(ctx, "the code could not be run", append(attrs, "error", out.Err)...)
		return
	}
	b.log.DebugContext(ctx, "run ended", attrs...)
}

// endCall tells what came of a call.
func (l *live) endCall(
	ctx context.Context, span *telemetry.Span, c guest.ToolCall, how ending, err error, took time.Duration,
) {
	span.End(string(how), errorType(how, err))
	if l.bridge.log.Enabled(ctx, slog.LevelDebug) {
		l.bridge.log.DebugContext(
			ctx, "call", "server", c.Server, "tool", visible.Name(c.Tool), "outcome", how, "ms", ms(took),
		)
	}
}

// errorType is the class of what went wrong in a call, as the conventions of OpenTelemetry have it; empty where nothing
// did.
func errorType(how ending, err error) string {
	var call *upstream.CallError
	var start *upstream.StartError
	switch {
	case how == callOK:
		return ""
	case err == nil:
		return "tool_error"
	case errors.As(err, &call) && call.Code != 0:
		return codeClass(call.Code)
	case errors.As(err, &start):
		return "server_start"
	case errors.As(err, &call) && call.Crashed:
		return "server_ended"
	case errors.Is(err, context.DeadlineExceeded):
		return "timeout"
	case errors.Is(err, context.Canceled), errors.Is(err, errGuestCancelled), errors.Is(err, errRunOver):
		return "cancelled"
	}
	return "_OTHER"
}

// codeClass is the class of an error's code: JSON-RPC's own, or that it is another, of which a server may have any
// number.
func codeClass(code int64) string {
	switch code {
	case -32700, -32600, -32601, -32602, -32603:
		return strconv.FormatInt(code, 10)
	}
	return "server_error"
}

// metricName is a tool's name where its server has said that it has it. Code may ask for any, and each would be a
// series of its own.
func (b *Bridge) metricName(server, tool string) string {
	if upstream.IsMethod(tool) || b.servers.ListsTool(server, tool) {
		return tool
	}
	return "_OTHER"
}

// beginCall begins the span of a call.
func (l *live) beginCall(ctx context.Context, c guest.ToolCall, p permit) (context.Context, *telemetry.Span) {
	t := l.bridge.opts.Telemetry
	switch {
	case t == nil:
		return ctx, nil
	case !p.tool:
		return t.Request(ctx, c.Server, c.Tool)
	}
	return t.Call(ctx, c.Server, l.bridge.metricName(c.Server, c.Tool))
}

// refused tells of a call that was not made.
func (l *live) refused(ctx context.Context, r *run, c guest.ToolCall, no *refusal) {
	how, rule := no.how, no.data.Rule
	r.stats.refuse(c.Server, c.Tool, how)
	r.recordRefusal(c.Server, c.Tool, rule, how)
	if t := l.bridge.opts.Telemetry; t != nil && how == callDenied {
		server := c.Server
		if _, ok := l.bridge.servers.Find(server); !ok {
			server = "_OTHER"
		}
		t.Denied(ctx, server, l.bridge.metricName(c.Server, c.Tool))
	}
	if l.bridge.log.Enabled(ctx, slog.LevelDebug) {
		l.bridge.log.DebugContext(
			ctx, "call "+string(how), "server", visible.Name(c.Server), "tool", visible.Name(c.Tool), "rule", rule,
		)
	}
}

// startObserver tells telemetry of servers' starts, and the clocks of runs of their waits for one.
type startObserver struct{ telemetry *telemetry.Telemetry }

func (o startObserver) Starting(ctx context.Context, server string) upstream.Start {
	ctx, span := o.telemetry.Upstream(ctx, server)
	return serverStart{o.telemetry, ctx, span}
}

// Waiting stops the clock of a run that waits.
func (o startObserver) Waiting(ctx context.Context, server string, limit time.Duration) (over func()) {
	c, ok := ctx.Value(clockKey{}).(*clock)
	if !ok {
		return func() {}
	}
	return c.holdStart(server, cmp.Or(limit, unlimitedStart))
}

// serverStart is one start, as a span; a server that is ready is counted while its process lives.
type serverStart struct {
	telemetry *telemetry.Telemetry
	ctx       context.Context
	span      *telemetry.Span
}

func (s serverStart) Failed(error) { s.span.End("failed", "server_start") }

func (s serverStart) Ready() {
	s.span.End("ok", "")
	s.telemetry.Upstreams(s.ctx, 1)
}

func (s serverStart) Ended() { s.telemetry.Upstreams(s.ctx, -1) }

type clockKey struct{}

// withClock is a context in which a wait for a server's start does not count against a run's deadline.
func withClock(ctx context.Context, c *clock) context.Context {
	return context.WithValue(ctx, clockKey{}, c)
}

// unlimitedStart stands for mcp.start_timeout = 0.
const unlimitedStart = 24 * time.Hour

// progress tells the caller what takes time, if it listens; an empty text is its end.
func (b *Bridge) progress(subject, text string) {
	if b.opts.Progress != nil {
		b.opts.Progress(subject, text)
	}
}
