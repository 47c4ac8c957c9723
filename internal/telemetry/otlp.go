package telemetry

import (
	"encoding/hex"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// The JSON form of OTLP (https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding):
// ids are hex, numbers of 64 bits are texts, enumerations are numbers. docs/rationale.md says why
// it is written here.
type (
	resourceSpans struct {
		Resource   attributes   `json:"resource"`
		ScopeSpans []scopeSpans `json:"scopeSpans"`
	}
	resourceMetrics struct {
		Resource     attributes     `json:"resource"`
		ScopeMetrics []scopeMetrics `json:"scopeMetrics"`
	}
	scopeSpans struct {
		Scope scopeName  `json:"scope"`
		Spans []spanData `json:"spans"`
	}
	scopeMetrics struct {
		Scope   scopeName    `json:"scope"`
		Metrics []metricData `json:"metrics"`
	}
	scopeName struct {
		Name    string `json:"name"`
		Version string `json:"version,omitempty"`
	}
	attributes struct {
		Attributes []keyValue `json:"attributes"`
	}
	keyValue struct {
		Key   string         `json:"key"`
		Value map[string]any `json:"value"`
	}

	spanData struct {
		TraceID      string     `json:"traceId"`
		SpanID       string     `json:"spanId"`
		ParentSpanID string     `json:"parentSpanId,omitempty"`
		TraceState   string     `json:"traceState,omitempty"`
		Flags        uint32     `json:"flags"`
		Name         string     `json:"name"`
		Kind         int        `json:"kind"`
		Start        string     `json:"startTimeUnixNano"`
		End          string     `json:"endTimeUnixNano"`
		Attributes   []keyValue `json:"attributes"`
		Status       statusData `json:"status"`
	}
	statusData struct {
		Code int `json:"code,omitempty"`
	}

	metricData struct {
		Name        string         `json:"name"`
		Description string         `json:"description,omitempty"`
		Unit        string         `json:"unit,omitempty"`
		Sum         *sumData       `json:"sum,omitempty"`
		Histogram   *histogramData `json:"histogram,omitempty"`
	}
	sumData struct {
		DataPoints  []pointData `json:"dataPoints"`
		Temporality int         `json:"aggregationTemporality"`
		Monotonic   bool        `json:"isMonotonic"`
	}
	histogramData struct {
		DataPoints  []pointData `json:"dataPoints"`
		Temporality int         `json:"aggregationTemporality"`
	}
	pointData struct {
		Attributes     []keyValue `json:"attributes"`
		Start          string     `json:"startTimeUnixNano"`
		Time           string     `json:"timeUnixNano"`
		AsInt          string     `json:"asInt,omitempty"`
		Count          string     `json:"count,omitempty"`
		Sum            *float64   `json:"sum,omitempty"`
		BucketCounts   []string   `json:"bucketCounts,omitempty"`
		ExplicitBounds []float64  `json:"explicitBounds,omitempty"`
	}
)

func encodeSpans(spans []sdktrace.ReadOnlySpan) any {
	if len(spans) == 0 {
		return map[string]any{}
	}
	list := make([]spanData, len(spans))
	for i, s := range spans {
		c, parent := s.SpanContext(), s.Parent()
		list[i] = spanData{
			TraceID:    c.TraceID().String(),
			SpanID:     c.SpanID().String(),
			TraceState: c.TraceState().String(),
			Name:       s.Name(),
			Kind:       int(s.SpanKind()),
			Start:      nano(s.StartTime()),
			End:        nano(s.EndTime()),
			Attributes: encodeAttributes(s.Attributes()),
			Flags:      uint32(c.TraceFlags()) | 0x100, // whether the parent is remote is known
		}
		if parent.SpanID().IsValid() {
			id := parent.SpanID()
			list[i].ParentSpanID = hex.EncodeToString(id[:])
		}
		if parent.IsRemote() {
			list[i].Flags |= 0x200
		}
		if s.Status().Code == codes.Error {
			list[i].Status.Code = 2
		}
	}
	return map[string]any{"resourceSpans": []resourceSpans{{
		encodeResource(spans[0].Resource()), []scopeSpans{{encodeScope(spans[0].InstrumentationScope()), list}},
	}}}
}

func encodeMetrics(m *metricdata.ResourceMetrics) any {
	all := resourceMetrics{Resource: encodeResource(m.Resource)}
	for _, s := range m.ScopeMetrics {
		list := make([]metricData, 0, len(s.Metrics))
		for _, x := range s.Metrics {
			data := metricData{Name: x.Name, Description: x.Description, Unit: x.Unit}
			switch a := x.Data.(type) {
			case metricdata.Sum[int64]:
				data.Sum = &sumData{Temporality: temporality[a.Temporality], Monotonic: a.IsMonotonic}
				for _, p := range a.DataPoints {
					data.Sum.DataPoints = append(data.Sum.DataPoints, pointData{
						Attributes: encodeAttributes(p.Attributes.ToSlice()),
						Start:      nano(p.StartTime),
						Time:       nano(p.Time),
						AsInt:      strconv.FormatInt(p.Value, 10),
					})
				}
			case metricdata.Histogram[float64]:
				data.Histogram = &histogramData{
					Temporality: temporality[a.Temporality], DataPoints: encodeHistogram(a.DataPoints),
				}
			default:
				continue // none of ours
			}
			list = append(list, data)
		}
		all.ScopeMetrics = append(all.ScopeMetrics, scopeMetrics{encodeScope(s.Scope), list})
	}
	return map[string]any{"resourceMetrics": []resourceMetrics{all}}
}

// temporality is OTLP's number for the SDK's.
var temporality = map[metricdata.Temporality]int{metricdata.DeltaTemporality: 1, metricdata.CumulativeTemporality: 2}

func encodeHistogram(points []metricdata.HistogramDataPoint[float64]) (list []pointData) {
	for _, p := range points {
		data := pointData{
			Attributes: encodeAttributes(p.Attributes.ToSlice()), Start: nano(p.StartTime), Time: nano(p.Time),
			Count: strconv.FormatUint(p.Count, 10), Sum: &p.Sum, ExplicitBounds: p.Bounds,
		}
		for _, n := range p.BucketCounts {
			data.BucketCounts = append(data.BucketCounts, strconv.FormatUint(n, 10))
		}
		list = append(list, data)
	}
	return list
}

func encodeResource(r *resource.Resource) attributes {
	return attributes{encodeAttributes(r.Attributes())}
}

func encodeScope(s instrumentation.Scope) scopeName { return scopeName{s.Name, s.Version} }

// encodeAttributes knows the kinds that codemode and its environment have: texts, mostly.
func encodeAttributes(list []attribute.KeyValue) []keyValue {
	out := make([]keyValue, len(list))
	for i, a := range list {
		out[i] = keyValue{string(a.Key), map[string]any{"stringValue": a.Value.String()}}
	}
	return out
}

func nano(t time.Time) string { return strconv.FormatInt(t.UnixNano(), 10) }
