package telemetry

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"

	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// sink is where encoded telemetry goes. It takes one piece at a time: each exporter has one of its own.
type sink interface {
	send(ctx context.Context, what any) error
}

// open makes a sink. It connects to nothing yet.
func (t target) open(o Options) sink {
	if t.console {
		return console{o.Console}
	}
	return &collector{t, &http.Client{Timeout: t.timeout, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse // headers may be a key
	}}}
}

// console writes a line for each piece.
type console struct{ out io.Writer }

func (c console) send(_ context.Context, what any) error {
	data, err := json.Marshal(what)
	if err != nil {
		return err
	}
	_, err = c.out.Write(append(data, '\n'))
	return err
}

// collector posts OTLP in its JSON form.
type collector struct {
	target target
	client *http.Client
}

func (c *collector) send(ctx context.Context, what any) error {
	data, err := json.Marshal(what)
	if err != nil {
		return err
	}
	var body bytes.Buffer
	if c.target.gzip {
		z := gzip.NewWriter(&body)
		_, err = z.Write(data)
		err = errors.Join(err, z.Close())
	} else {
		body.Write(data)
	}
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.target.url, &body)
	if err != nil {
		return err
	}
	for name, value := range c.target.headers {
		req.Header.Set(name, value)
	}
	req.Header.Set("Content-Type", "application/json")
	if c.target.gzip {
		req.Header.Set("Content-Encoding", "gzip")
	}
	res, err := c.client.Do(req)
	if err != nil {
		var outer *url.Error
		if errors.As(err, &outer) {
			err = outer.Err // without the address, in which there may be a key
		}
		return fmt.Errorf("sending to the collector: %w", c.plainly(err))
	}
	defer res.Body.Close()
	_, _ = io.CopyN(io.Discard, res.Body, 64<<10) // so that the connection is used again
	if res.StatusCode/100 != 2 {
		return fmt.Errorf("the collector answered \"%d %s\"", res.StatusCode, http.StatusText(res.StatusCode))
	}
	return nil
}

// plainly is an error without the name of the collector's host, in which there may be a key, too.
func (c *collector) plainly(err error) error {
	var dns *net.DNSError
	if errors.As(err, &dns) {
		return errors.New(dns.Err)
	}
	u, bad := url.Parse(c.target.url)
	if text := err.Error(); bad == nil && net.ParseIP(u.Hostname()) == nil && u.Hostname() != "localhost" {
		return errors.New(strings.ReplaceAll(text, u.Hostname(), "***"))
	}
	return err
}

type spanExporter struct{ sink sink }

func (e *spanExporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	return e.sink.send(ctx, encodeSpans(spans))
}

func (e *spanExporter) Shutdown(context.Context) error { return closeIdle(e.sink) }

type metricExporter struct{ sink sink }

func (e *metricExporter) Temporality(k metric.InstrumentKind) metricdata.Temporality {
	return metric.DefaultTemporalitySelector(k)
}

func (e *metricExporter) Aggregation(k metric.InstrumentKind) metric.Aggregation {
	return metric.DefaultAggregationSelector(k)
}

func (e *metricExporter) Export(ctx context.Context, m *metricdata.ResourceMetrics) error {
	return e.sink.send(ctx, encodeMetrics(m))
}

func (e *metricExporter) ForceFlush(context.Context) error { return nil }

func (e *metricExporter) Shutdown(context.Context) error { return closeIdle(e.sink) }

// closeIdle ends the goroutines of connections that are kept.
func closeIdle(s sink) error {
	if c, ok := s.(*collector); ok {
		c.client.CloseIdleConnections()
	}
	return nil
}
