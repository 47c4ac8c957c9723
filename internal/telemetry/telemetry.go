// Package telemetry is what codemode tells an OpenTelemetry collector: one trace a run, and a few metrics.
//
// It owns the providers, what is exported and to where, and the names of spans, attributes and metrics. It never holds
// code, arguments, results or the text of an error, and writes nothing but warnings where its user asks for nothing.
// The caller of New closes it.
package telemetry

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// Options is what a Telemetry is made from.
type Options struct {
	Lookup  func(string) (string, bool) // the environment: OTEL_…
	Console io.Writer                   // of the exporter "console"
	Warn    func(string)                // is called once at most for what cannot be exported
	Version string                      // codemode's
}

// Telemetry makes spans and counts. A nil one does nothing, and that is what New returns where nobody wants any.
type Telemetry struct {
	traces  *sdktrace.TracerProvider // nil exports none
	metrics *metric.MeterProvider    // nil exports none
	tracer  trace.Tracer
	numbers numbers
	warn    func(error)
}

// flushPatience bounds what the end of codemode waits for a collector.
const flushPatience = time.Second

// scope is what spans and metrics say they are from.
const scope = "codemode"

// New reads the environment as the specification has it
// (https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/, read November 2026), but for one
// thing: where it says nothing of an exporter or an endpoint, nothing is exported.
func New(o Options) *Telemetry {
	s := readSettings(o.Lookup)
	for _, problem := range s.problems {
		o.Warn("OpenTelemetry: " + problem)
	}
	if len(s.traces)+len(s.metrics) == 0 {
		return nil
	}
	var once sync.Once
	t := &Telemetry{warn: func(err error) {
		if err != nil {
			once.Do(func() { o.Warn("OpenTelemetry: " + short(err)) })
		}
	}}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(t.warn)) // the SDK has no other way to say what it could not export
	about, err := resource.New(context.Background(), resource.WithAttributes(
		attribute.String("service.name", "codemode"), attribute.String("service.version", o.Version),
	), resource.WithTelemetrySDK(), resource.WithFromEnv())
	t.warn(err)
	t.tracer = noTracer
	if len(s.traces) > 0 {
		options := []sdktrace.TracerProviderOption{sdktrace.WithResource(about)}
		for _, target := range s.traces {
			options = append(options, sdktrace.WithBatcher(&spanExporter{target.open(o)}))
		}
		t.traces = sdktrace.NewTracerProvider(options...)
		t.tracer = t.traces.Tracer(scope, trace.WithInstrumentationVersion(o.Version))
	}
	if len(s.metrics) > 0 {
		options := []metric.Option{metric.WithResource(about)}
		for _, target := range s.metrics {
			options = append(options, metric.WithReader(metric.NewPeriodicReader(&metricExporter{target.open(o)})))
		}
		t.metrics = metric.NewMeterProvider(options...)
	}
	t.numbers, err = newNumbers(t.metrics, o.Version)
	t.warn(err)
	return t
}

// Close exports what has not been yet, within a bounded time.
func (t *Telemetry) Close() {
	if t == nil {
		return
	}
	ctx, cancel := context.WithTimeoutCause(
		context.Background(), flushPatience, errors.New("the collector did not take the last of it in time"),
	)
	defer cancel()
	var work sync.WaitGroup
	if t.traces != nil {
		work.Go(func() { t.warn(caused(ctx, t.traces.Shutdown(ctx))) })
	}
	if t.metrics != nil {
		work.Go(func() { t.warn(caused(ctx, t.metrics.Shutdown(ctx))) })
	}
	work.Wait()
}

// caused prefers why a context ended over what its end made fail.
func caused(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// short is an error in one line of bounded length.
func short(err error) string {
	text := strings.Join(strings.Fields(err.Error()), " ")
	return text[:min(len(text), 300)]
}

// Parent is a span of the caller's, as it says it: the W3C trace context. The zero one is none.
type Parent struct{ Traceparent, Tracestate string }

var w3c propagation.TraceContext

func (p Parent) into(ctx context.Context) context.Context {
	if p.Traceparent == "" {
		return ctx
	}
	return w3c.Extract(ctx, propagation.MapCarrier{"traceparent": p.Traceparent, "tracestate": p.Tracestate})
}

// Meta is what a request made in ctx says of its span in its _meta, by the conventions of OpenTelemetry and MCP
// (https://modelcontextprotocol.io/seps/414-request-meta, read November 2026); nil where there is none.
func (t *Telemetry) Meta(ctx context.Context) map[string]string {
	if t == nil || t.traces == nil {
		return nil
	}
	carrier := propagation.MapCarrier{}
	w3c.Inject(ctx, carrier)
	return carrier
}
