package telemetry

import (
	"context"
	"slices"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	api "go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/trace"
	notrace "go.opentelemetry.io/otel/trace/noop"
)

var noTracer = notrace.NewTracerProvider().Tracer(scope)

// Names of the semantic conventions for MCP
// (https://github.com/open-telemetry/semantic-conventions-genai/blob/main/docs/gen-ai/mcp.md, read November 2026).
const (
	keyMethod    = attribute.Key("mcp.method.name")
	keyTool      = attribute.Key("gen_ai.tool.name")
	keyOperation = attribute.Key("gen_ai.operation.name")
	keyTransport = attribute.Key("network.transport")
	keyError     = attribute.Key("error.type")
)

// Names of our own.
const (
	keyRun     = attribute.Key("codemode.run.id")
	keySession = attribute.Key("codemode.session")
	keyTenant  = attribute.Key("codemode.tenant")
	keyServer  = attribute.Key("codemode.server")
	keyRuntime = attribute.Key("codemode.runtime")
	keyOutcome = attribute.Key("codemode.outcome")
)

// buckets are those that the conventions advise for durations, in seconds.
var buckets = []float64{0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300}

// numbers are the metrics.
type numbers struct {
	runs, denials       api.Int64Counter
	serverTime, clients api.Float64Histogram
	sessions, upstreams api.Int64UpDownCounter
}

func newNumbers(p *metric.MeterProvider, version string) (n numbers, err error) {
	var meter api.Meter = noop.NewMeterProvider().Meter(scope)
	if p != nil {
		meter = p.Meter(scope, api.WithInstrumentationVersion(version))
	}
	keep := func(e error) {
		if err == nil {
			err = e
		}
	}
	seconds := []api.Float64HistogramOption{api.WithUnit("s"), api.WithExplicitBucketBoundaries(buckets...)}
	var e error
	n.runs, e = meter.Int64Counter(
		"codemode.runs", api.WithUnit("{run}"), api.WithDescription("runs that ended, by outcome"),
	)
	keep(e)
	n.denials, e = meter.Int64Counter(
		"codemode.denials", api.WithUnit("{call}"),
		api.WithDescription("tool calls that policy or the user has denied"),
	)
	keep(e)
	n.serverTime, e = meter.Float64Histogram("mcp.server.operation.duration", seconds...)
	keep(e)
	n.clients, e = meter.Float64Histogram("mcp.client.operation.duration", seconds...)
	keep(e)
	n.sessions, e = meter.Int64UpDownCounter(
		"codemode.sessions", api.WithUnit("{session}"), api.WithDescription("sessions that have a sandbox"),
	)
	keep(e)
	n.upstreams, e = meter.Int64UpDownCounter(
		"codemode.upstreams", api.WithUnit("{server}"), api.WithDescription("MCP servers that run"),
	)
	keep(e)
	return n, err
}

// Span is something that takes time. A nil one does nothing.
type Span struct {
	span  trace.Span
	began time.Time
	over  func(s *Span, outcome, errorType string)
}

// Around is ctx with the span as the one that others are made in.
func (s *Span) Around(ctx context.Context) context.Context {
	if s == nil {
		return ctx
	}
	return trace.ContextWithSpan(ctx, s.span)
}

// End says what came of it. errorType is a class of error, one of few; empty is none.
func (s *Span) End(outcome, errorType string) {
	if s == nil {
		return
	}
	s.span.SetAttributes(keyOutcome.String(outcome))
	if errorType != "" {
		s.span.SetAttributes(keyError.String(errorType))
		s.span.SetStatus(codes.Error, "")
	}
	if s.over != nil {
		s.over(s, outcome, errorType)
	}
	s.span.End()
}

func (t *Telemetry) start(
	ctx context.Context, name string, kind trace.SpanKind, attributes ...attribute.KeyValue,
) (context.Context, *Span) {
	ctx, span := t.tracer.Start(ctx, name, trace.WithSpanKind(kind), trace.WithAttributes(attributes...))
	return ctx, &Span{span: span, began: time.Now()}
}

// Run is one execution of code: a call of run_python, or a program.
type Run struct {
	ID, Session, Tenant string
	Program             bool // of exec, which is no server
	Parent              Parent
}

// Run begins the span of a run.
func (t *Telemetry) Run(ctx context.Context, r Run) (context.Context, *Span) {
	if t == nil {
		return ctx, nil
	}
	attributes := []attribute.KeyValue{keyRun.String(r.ID), keySession.String(r.Session), keyTenant.String(r.Tenant)}
	name, kind := "run_python", trace.SpanKindInternal
	operation := []attribute.KeyValue{keyMethod.String("tools/call"), keyTool.String("run_python")}
	if !r.Program {
		name, kind = "tools/call run_python", trace.SpanKindServer
		attributes = append(
			append(attributes, operation...), keyOperation.String("execute_tool"), keyTransport.String("pipe"),
		)
	}
	ctx, s := t.start(r.Parent.into(ctx), name, kind, attributes...)
	s.over = func(s *Span, outcome, errorType string) {
		t.numbers.runs.Add(ctx, 1, api.WithAttributes(keyOutcome.String(outcome)))
		if !r.Program {
			t.numbers.serverTime.Record(ctx, time.Since(s.began).Seconds(), failed(operation, errorType))
		}
	}
	return ctx, s
}

// Sandbox begins the span of the start of one.
func (t *Telemetry) Sandbox(ctx context.Context) (context.Context, *Span) {
	if t == nil {
		return ctx, nil
	}
	return t.start(ctx, "sandbox start", trace.SpanKindInternal)
}

// Runtime says which one a sandbox has: it is known once it has started.
func (s *Span) Runtime(name string) {
	if s != nil {
		s.span.SetAttributes(keyRuntime.String(name))
	}
}

// Upstream begins the span of the start of a server.
func (t *Telemetry) Upstream(ctx context.Context, server string) (context.Context, *Span) {
	if t == nil {
		return ctx, nil
	}
	return t.start(ctx, "server start", trace.SpanKindInternal, keyServer.String(server))
}

// Call begins the span of a call of a server's tool. The names must be such as the user's servers have: code chooses
// what it asks for.
func (t *Telemetry) Call(ctx context.Context, server, tool string) (context.Context, *Span) {
	attributes := []attribute.KeyValue{keyMethod.String("tools/call"), keyTool.String(tool), keyServer.String(server)}
	return t.client(ctx, "tools/call "+tool, attributes, keyOperation.String("execute_tool"))
}

// Request begins the span of a request to a server that is no call of a tool, such as resources/read.
func (t *Telemetry) Request(ctx context.Context, server, method string) (context.Context, *Span) {
	return t.client(ctx, method, []attribute.KeyValue{keyMethod.String(method), keyServer.String(server)})
}

// client begins the span of a request to a server. The attributes are also its metric's.
func (t *Telemetry) client(
	ctx context.Context, name string, attributes []attribute.KeyValue, more ...attribute.KeyValue,
) (context.Context, *Span) {
	if t == nil {
		return ctx, nil
	}
	more = append(more, keyTransport.String("pipe"))
	ctx, s := t.start(ctx, name, trace.SpanKindClient, slices.Concat(attributes, more)...)
	s.over = func(s *Span, outcome, errorType string) {
		t.numbers.clients.Record(
			ctx, time.Since(s.began).Seconds(), failed(append(attributes, keyOutcome.String(outcome)), errorType),
		)
	}
	return ctx, s
}

// Denied counts a call that was not made.
func (t *Telemetry) Denied(ctx context.Context, server, tool string) {
	if t != nil {
		t.numbers.denials.Add(ctx, 1, api.WithAttributes(keyTool.String(tool), keyServer.String(server)))
	}
}

// failed adds the class of an error, if there was one.
func failed(attributes []attribute.KeyValue, errorType string) api.MeasurementOption {
	if errorType != "" {
		attributes = append(attributes[:len(attributes):len(attributes)], keyError.String(errorType))
	}
	return api.WithAttributes(attributes...)
}

// Sessions counts sessions that have got a sandbox, or with -1 lost one.
func (t *Telemetry) Sessions(ctx context.Context, n int64) {
	if t != nil {
		t.numbers.sessions.Add(ctx, n)
	}
}

// Upstreams counts servers that have started, or with -1 ended.
func (t *Telemetry) Upstreams(ctx context.Context, n int64) {
	if t != nil {
		t.numbers.upstreams.Add(ctx, n)
	}
}
