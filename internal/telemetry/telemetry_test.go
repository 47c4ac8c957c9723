package telemetry

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/tidwall/gjson"
)

// env is an environment. The SDK reads some of it itself.
func env(t *testing.T, pairs ...string) func(string) (string, bool) {
	vars := map[string]string{}
	for _, p := range pairs {
		name, value, _ := strings.Cut(p, "=")
		vars[name] = value
		t.Setenv(name, value)
	}
	return func(name string) (string, bool) { v, ok := vars[name]; return v, ok }
}

// posts are what a collector got.
type posts struct {
	*httptest.Server
	mu      sync.Mutex
	bodies  map[string]string // by path
	headers http.Header
}

func newPosts(t *testing.T, status int) *posts {
	p := &posts{bodies: map[string]string{}}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body io.Reader = r.Body
		if r.Header.Get("Content-Encoding") == "gzip" {
			body, _ = gzip.NewReader(r.Body)
		}
		data, err := io.ReadAll(body)
		if err != nil || r.Header.Get("Content-Type") != "application/json" || !json.Valid(data) {
			t.Errorf("%v %s: %s", err, r.Header, data)
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		p.bodies[r.URL.Path], p.headers = string(data), r.Header
		w.WriteHeader(status)
	}))
	t.Cleanup(p.Close)
	return p
}

// use does what a run does.
func use(t *testing.T, tel *Telemetry) (meta map[string]string) {
	ctx, run := tel.Run(t.Context(), Run{
		ID: "abc", Session: "default", Tenant: "work",
		Parent: Parent{Traceparent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", Tracestate: "x=y"},
	})
	_, box := tel.Sandbox(ctx)
	box.End("ok", "")
	tel.Sessions(ctx, 1)
	for _, class := range []string{"", "tool_error"} {
		called, call := tel.Call(ctx, "notes", "add")
		if meta == nil {
			meta = tel.Meta(called)
		}
		_, up := tel.Upstream(called, "notes")
		up.End("ok", "")
		call.End("any", class)
	}
	tel.Denied(ctx, "notes", "delete")
	tel.Upstreams(ctx, 1)
	run.End("error", "tool_error")
	return meta
}

func TestExport(t *testing.T) {
	p := newPosts(t, http.StatusOK)
	tel := New(Options{Version: "1.2", Warn: func(text string) { t.Error(text) }, Lookup: env(
		t, "OTEL_EXPORTER_OTLP_ENDPOINT="+p.URL+"/", "OTEL_EXPORTER_OTLP_HEADERS=x-key=a%20b, y=z",
		"OTEL_EXPORTER_OTLP_METRICS_HEADERS=x-key=c", "OTEL_EXPORTER_OTLP_COMPRESSION=gzip",
		"OTEL_RESOURCE_ATTRIBUTES=team=mine",
	)})
	meta := use(t, tel)
	tel.Close()

	resource := gjson.Get(p.bodies["/v1/traces"], "resourceSpans.0.resource.attributes")
	for _, want := range []string{
		`"service.name","value":{"stringValue":"codemode"}`, `"service.version","value":{"stringValue":"1.2"}`,
		`"team","value":{"stringValue":"mine"}`,
	} {
		if !strings.Contains(resource.Raw, want) {
			t.Errorf("%s is not in %s", want, resource)
		}
	}
	spans := map[string]gjson.Result{}
	for _, s := range gjson.Get(p.bodies["/v1/traces"], "resourceSpans.0.scopeSpans.0.spans").Array() {
		spans[s.Get("name").String()] = s
		if s.Get("traceId").String() != "4bf92f3577b34da6a3ce929d0e0e4736" ||
			s.Get("startTimeUnixNano").Type != gjson.String ||
			s.Get("endTimeUnixNano").Int() == 0 {
			t.Error(s)
		}
	}
	run := spans["tools/call run_python"]
	if run.Get("parentSpanId").String() != "00f067aa0ba902b7" || run.Get("kind").Int() != 2 ||
		run.Get("status.code").Int() != 2 ||
		run.Get("traceState").String() != "x=y" {
		t.Error(run)
	}
	for child, parent := range map[string]string{
		"sandbox start": "tools/call run_python", "tools/call add": "tools/call run_python",
		"server start": "tools/call add",
	} {
		if spans[child].Get("parentSpanId").String() != spans[parent].Get("spanId").String() ||
			spans[parent].Get("spanId").String() == "" {
			t.Errorf("%s is no child of %s: %v", child, parent, spans)
		}
	}
	if !strings.HasPrefix(meta["traceparent"], "00-4bf92f3577b34da6a3ce929d0e0e4736-") || meta["tracestate"] != "x=y" {
		t.Error(meta)
	}

	metrics := gjson.Get(p.bodies["/v1/metrics"], "resourceMetrics.0.scopeMetrics.0.metrics")
	for path, want := range map[string]string{
		`#(name=="codemode.runs").sum.dataPoints.0.asInt`:                                  "1",
		`#(name=="codemode.runs").sum.isMonotonic`:                                         "true",
		`#(name=="codemode.sessions").sum.dataPoints.0.asInt`:                              "1",
		`#(name=="codemode.sessions").sum.isMonotonic`:                                     "false",
		`#(name=="codemode.upstreams").sum.aggregationTemporality`:                         "2",
		`#(name=="codemode.denials").sum.dataPoints.0.asInt`:                               "1",
		`#(name=="mcp.client.operation.duration").unit`:                                    "s",
		`#(name=="mcp.client.operation.duration").histogram.dataPoints.#`:                  "2",
		`#(name=="mcp.client.operation.duration").histogram.dataPoints.0.explicitBounds.#`: "14",
		`#(name=="mcp.client.operation.duration").histogram.dataPoints.0.bucketCounts.#`:   "15",
		`#(name=="mcp.server.operation.duration").histogram.dataPoints.0.count`:            "1",
	} {
		if got := metrics.Get(path).String(); got != want {
			t.Errorf("%s is %q, want %q", path, got, want)
		}
	}
	if key := p.headers.Get("x-key"); key != "c" && key != "a b" {
		t.Error(p.headers)
	}
}

// TestOff holds that nothing is made where nothing is asked for, or where that is all there is.
func TestOff(t *testing.T) {
	for _, pairs := range [][]string{
		nil,
		{"OTEL_SERVICE_NAME=x"},
		{"OTEL_EXPORTER_OTLP_ENDPOINT="},
		{"OTEL_SDK_DISABLED=TRUE", "OTEL_EXPORTER_OTLP_ENDPOINT=http://localhost:1"},
		{"OTEL_TRACES_EXPORTER=none", "OTEL_METRICS_EXPORTER=none", "OTEL_EXPORTER_OTLP_ENDPOINT=http://localhost:1"},
	} {
		tel := New(Options{Lookup: env(t, pairs...), Warn: func(text string) { t.Error(text) }})
		if tel != nil {
			t.Errorf("%v makes one", pairs)
		}
		if meta := use(t, tel); meta != nil {
			t.Error(meta)
		}
		tel.Close()
	}
}

func TestConsole(t *testing.T) {
	var out bytes.Buffer
	tel := New(
		Options{
			Console: &out, Warn: func(text string) { t.Error(text) },
			Lookup: env(t, "OTEL_TRACES_EXPORTER=console", "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT="),
		},
	)
	use(t, tel)
	tel.Close()
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 1 || !gjson.Get(lines[0], `resourceSpans.0.scopeSpans.0.spans.#(name=="server start")`).Exists() {
		t.Error(out.String())
	}
}

func TestSettings(t *testing.T) {
	for name, c := range map[string]struct {
		pairs   []string
		traces  string
		metrics string
		problem string
	}{
		"one kind":    {[]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://h/x"}, "http://h/x", "", ""},
		"below":       {[]string{"OTEL_EXPORTER_OTLP_ENDPOINT=https://h/a"}, "https://h/a/v1/traces", "https://h/a/v1/metrics", ""},
		"as it is":    {[]string{"OTEL_METRICS_EXPORTER=otlp"}, "", "http://localhost:4318/v1/metrics", ""},
		"own wins":    {[]string{"OTEL_EXPORTER_OTLP_ENDPOINT=http://h", "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT=http://m/y"}, "http://h/v1/traces", "http://m/y", ""},
		"grpc":        {[]string{"OTEL_EXPORTER_OTLP_ENDPOINT=http://h", "OTEL_EXPORTER_OTLP_PROTOCOL=grpc"}, "", "", `"grpc"; codemode speaks OTLP over HTTP alone`},
		"unknown":     {[]string{"OTEL_TRACES_EXPORTER=zipkin"}, "", "", `OTEL_TRACES_EXPORTER is "zipkin"`},
		"no address":  {[]string{"OTEL_EXPORTER_OTLP_ENDPOINT=secret"}, "", "", "no http:// or https:// address"},
		"bad timeout": {[]string{"OTEL_EXPORTER_OTLP_ENDPOINT=http://h", "OTEL_EXPORTER_OTLP_TIMEOUT=1s"}, "", "", `"1s"; it must be a number of milliseconds`},
	} {
		s := readSettings(env(t, c.pairs...))
		address := func(list []target) (u string) {
			for _, x := range list {
				u += x.url
			}
			return u
		}
		if address(s.traces) != c.traces || address(s.metrics) != c.metrics {
			t.Errorf("%s: %+v", name, s)
		}
		if c.problem == "" && s.problems != nil ||
			c.problem != "" && (len(s.problems) != 1 || !strings.Contains(s.problems[0], c.problem)) {
			t.Errorf("%s: problems %q", name, s.problems)
		}
	}
}

// TestHeadersAreNotTold: what cannot be sent as a header may be a key that was written down wrongly.
func TestHeadersAreNotTold(t *testing.T) {
	for _, headers := range []string{
		"Authorization: Basic dXNlcjpodXNoLWh1c2g=", "api key hush=1", "hush\"=1", "x=a%0Ahush: 1", "=hush",
	} {
		for _, name := range []string{"OTEL_EXPORTER_OTLP_HEADERS=", "OTEL_EXPORTER_OTLP_TRACES_HEADERS="} {
			var warnings []string
			tel := New(Options{
				Lookup: env(t, "OTEL_EXPORTER_OTLP_ENDPOINT="+newPosts(t, 200).URL, name+headers),
				Warn:   func(text string) { warnings = append(warnings, text) },
			})
			use(t, tel)
			tel.Close()
			said := strings.Join(warnings, "; ")
			if !strings.Contains(said, "HEADERS has what no header can have") || strings.Contains(said, "dXN") ||
				strings.Contains(said, "hush") {
				t.Errorf("%s%s: %s", name, headers, said)
			}
		}
	}
}

// TestDeadCollectors holds that each costs one warning, without what the address has in it, and that the end waits for
// none.
func TestDeadCollectors(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0") // takes connections, and answers nothing
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	refusing, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	refusing.Close()
	telling, err := net.Listen("tcp", "127.0.0.1:0") // says in its status line what it was sent
	if err != nil {
		t.Fatal(err)
	}
	defer telling.Close()
	go func() {
		for {
			c, err := telling.Accept()
			if err != nil {
				return
			}
			_, _ = c.Read(make([]byte, 64<<10))
			_, _ = io.WriteString(c, "HTTP/1.1 401 not hush\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
			_ = c.Close()
		}
	}()
	for address, want := range map[string]string{
		"http://" + silent.Addr().String() + "/hush":   "did not take the last of it in time",
		"http://" + refusing.Addr().String() + "/hush": "sending to the collector",
		"http://hush.invalid/":                         "sending to the collector",
		"http://" + telling.Addr().String():            `the collector answered "401 Unauthorized"`,
		newPosts(t, 503).URL + "/hush":                 `the collector answered "503 Service Unavailable"`,
	} {
		var warnings []string
		var mu sync.Mutex
		tel := New(Options{Lookup: env(t, "OTEL_EXPORTER_OTLP_ENDPOINT="+address), Warn: func(text string) {
			mu.Lock()
			defer mu.Unlock()
			warnings = append(warnings, text)
		}})
		use(t, tel)
		tel.Close() // an hour would be the deadline of the test
		if len(warnings) != 1 || !strings.Contains(warnings[0], want) || strings.Contains(warnings[0], "hush") {
			t.Errorf("%s: %q", address, warnings)
		}
	}
}
