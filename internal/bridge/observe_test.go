package bridge

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"codemode/internal/audit"
	"codemode/internal/config"
	"codemode/internal/require"
	"codemode/internal/telemetry"
	"codemode/internal/upstream"

	"github.com/tidwall/gjson"
)

// collected is what an OpenTelemetry collector has got, a line for each request.
func collected(t *testing.T) (tel *telemetry.Telemetry, got func() string) {
	t.Helper()
	var mu sync.Mutex
	var text strings.Builder
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		text.Write(append(data, '\n'))
		w.Header().Set("Connection", "close") // so that no connection's goroutine is left
	}))
	t.Cleanup(server.Close)
	tel = telemetry.New(
		telemetry.Options{Warn: func(text string) { t.Error(text) }, Lookup: func(name string) (string, bool) {
			return map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": server.URL}[name], true
		}},
	)
	var once sync.Once
	t.Cleanup(func() { once.Do(tel.Close) })
	return tel, func() string {
		once.Do(tel.Close)
		mu.Lock()
		defer mu.Unlock()
		return text.String()
	}
}

// spansOf are the spans of a trace by name, the last of each.
func spansOf(text string) map[string]gjson.Result {
	spans := map[string]gjson.Result{}
	for line := range strings.Lines(text) {
		for _, s := range gjson.Get(line, "resourceSpans.0.scopeSpans.0.spans").Array() {
			spans[s.Get("name").String()] = s
		}
	}
	return spans
}

// TestTrace is one run in a trace of the client's: who is whose child, what its upstream is told, and that nothing of
// what the code said or was told is in it.
func TestTrace(t *testing.T) {
	tel, got := collected(t)
	dir := t.TempDir()
	k := newKit(t, func(o *Options) {
		o.Telemetry, o.AuditDir, o.Config.Audit = tel, dir, config.Audit{MaxSize: 1 << 20, Keep: 2}
		o.Config.Policy.Deny = []string{"fake.big"}
	}, fake("fake", "-resources"))
	out := k.run(Request{
		Parent: telemetry.Parent{Traceparent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"},
		Code: `
meta = await mcp_fake.meta()
await mcp_fake.echo(message="hush-argument")
await mcp_fake.resources.read("fake://text")
for call in (mcp_fake.fail(message="hush-failure"), mcp_fake.refuse(), mcp_fake.big(n=1)):
    try:
        await call
    except Exception as e:
        pass
print("hush-output")
meta`,
	})
	text := out.compact()
	if out.Status != StatusSuccess {
		t.Fatal(text)
	}
	k.Close()
	all := got()
	spans := spansOf(all)
	run := spans["tools/call run_python"]
	for name, want := range map[string]string{
		"parentSpanId": "00f067aa0ba902b7", "traceId": "4bf92f3577b34da6a3ce929d0e0e4736", "kind": "2",
	} {
		if got := run.Get(name).String(); got != want {
			t.Errorf("%s of the run is %q", name, got)
		}
	}
	for _, child := range []string{
		"sandbox start", "tools/call echo", "tools/call fail", "tools/call refuse", "tools/call meta", "resources/read",
	} {
		if s := spans[child]; s.Get("parentSpanId").String() != run.Get("spanId").String() || !s.Exists() {
			t.Errorf("%s is no child of the run: %s", child, s)
		}
	}
	if s := spans["server start"]; s.Get("traceId").String() != run.Get("traceId").String() {
		t.Errorf("the server's start is not in the trace: %s", s)
	}
	for name, want := range map[string]string{"echo": "", "fail": "tool_error", "refuse": "server_error"} {
		if got := spans["tools/call "+name].Get(`attributes.#(key=="error.type").value.stringValue`).
			String(); got != want {
			t.Errorf("error.type of %s is %q", name, got)
		}
	}
	id := run.Get(`attributes.#(key=="codemode.run.id").value.stringValue`).String()
	var events []string
	if _, err := audit.Read(dir, func(r audit.Record, _ []byte) {
		if r.Run == id {
			events = append(events, string(r.Event))
		}
	}); err != nil || len(events) < 6 || id == "" {
		t.Errorf("of run %q the audit log has %v: %v", id, events, err)
	}
	contains(t, text, "00-4bf92f3577b34da6a3ce929d0e0e4736-"+spans["tools/call meta"].Get("spanId").String()+"-01")
	if hush := regexp.MustCompile(`.{0,80}hush.{0,80}`).FindString(all); hush != "" {
		t.Errorf("it says %s", hush)
	}
	contains(t, all, `"codemode.denials"`, `"codemode.runs"`, `"mcp.client.operation.duration"`)
	if k.metricName("fake", "echo") != "echo" || k.metricName("fake", "hush") != "_OTHER" {
		t.Error("code can make series of any name")
	}
}

// TestNoTrace holds that a call is what it always was where nobody traces, even if the client does.
func TestNoTrace(t *testing.T) {
	k := newKit(t, nil, fake("fake"))
	out := k.run(Request{
		Code:   "await mcp_fake.meta()",
		Parent: telemetry.Parent{Traceparent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"},
	})
	want(t, out.compact(), "result: {'progressToken': 1}")
}

// TestRunInLog holds that what is logged for a run names it, and the receipt does, too.
func TestRunInLog(t *testing.T) {
	k := newKit(t, nil, fake("fake"))
	out := k.run(Request{Code: "await mcp_fake.echo(message='x')", Session: "work"})
	log := k.log.String()
	for _, line := range []string{
		`level=DEBUG msg="run begins"`, `level=INFO msg="session begins"`, `level=INFO msg="server started" server=fake`,
		`level=DEBUG msg=call server=fake tool=echo outcome=ok`, `level=DEBUG msg="run ended" outcome=success calls=1`,
	} {
		pattern := regexp.QuoteMeta(line) + ` .*run=` + out.Receipt.Run + ` session=work\n`
		if !regexp.MustCompile(pattern).MatchString(log) {
			t.Errorf("no line %s in:\n%s", pattern, log)
		}
	}
	_ = k.Close()
	contains(
		t,
		k.log.String(),
		`level=INFO msg="session ended" session=work`,
		`level=INFO msg="server ended" server=fake`,
	)
}

// TestLogHandler holds that what a logger has of its own stays with it.
func TestLogHandler(t *testing.T) {
	var text strings.Builder
	log := slog.New(LogHandler(slog.NewTextHandler(&text, nil))).With("server", "x")
	log.InfoContext(withLogged(t.Context(), "r1", "s1"), "a")
	log.InfoContext(withLogged(t.Context(), "", "s1"), "b")
	log.Info("c")
	for _, want := range []string{
		"msg=a server=x run=r1 session=s1\n", "msg=b server=x session=s1\n", "msg=c server=x\n",
	} {
		contains(t, text.String(), want)
	}
}

// TestAuditRequired holds that with audit.required no call is made that the log does not have, and without it each is,
// and its user is told.
func TestAuditRequired(t *testing.T) {
	full := t.TempDir()
	if err := os.Symlink("/dev/full", full+"/audit.jsonl"); err != nil {
		require.Lacking(t, "devices", "%v", err)
	}
	for _, required := range []bool{false, true} {
		k := newKit(t, func(o *Options) {
			o.AuditDir, o.Config.Audit = full, config.Audit{MaxSize: 1 << 20, Keep: 2, Required: required}
		}, fake("fake"))
		out := k.run(Request{Code: "await mcp_fake.echo(message='made')"})
		told := strings.Join(out.Notes, "\n")
		contains(t, told, "the audit log lacks a part of this run: writing the audit log: ")
		if made := out.Status == StatusSuccess; made == required {
			t.Errorf("required=%v: %s", required, out.compact())
		}
		if required {
			contains(
				t, out.compact(),
				"PolicyError: policy denies fake.echo: the audit log cannot be written, and audit.required is set",
			)
			if n := out.Receipt.ByTool["fake.echo"]; n.Denied != 1 || n.OK != 0 {
				t.Errorf("%+v", out.Receipt)
			}
		}
	}
}

// TestAuditUnsynced holds that of lines which may not be on disk the next result tells, or with audit.required their
// own: nothing can be synced to /dev/null.
func TestAuditUnsynced(t *testing.T) {
	for _, required := range []bool{false, true} {
		dir := t.TempDir()
		if err := os.Symlink(os.DevNull, dir+"/audit.jsonl"); err != nil {
			require.Lacking(t, "devices", "%v", err)
		}
		k := newKit(t, func(o *Options) {
			o.AuditDir, o.Config.Audit = dir, config.Audit{MaxSize: 1 << 20, Keep: 2, Required: required}
		}, fake("fake"))
		told := func(of string) bool {
			out := k.run(Request{Code: "await mcp_fake.echo(message='made')"})
			return slices.ContainsFunc(out.Notes, func(n string) bool {
				return strings.HasPrefix(n, "the audit log lacks a part of "+of+": writing the audit log: ")
			})
		}
		if required {
			if !told("this run") {
				t.Error("a result did not wait for the disk")
			}
			continue
		}
		k.eventually("a result tells that lines are lost", func() bool { return told("an earlier run") })
		_ = k.Close() // which tells of the last ones, unless that result did
	}
}

// TestCodeClass holds that no server can make as many series as it has numbers.
func TestCodeClass(t *testing.T) {
	for code, want := range map[int64]string{
		-32700: "-32700", -32602: "-32602", -32000: "server_error", -32604: "server_error", 1: "server_error",
	} {
		err := fmt.Errorf("a call: %w", &upstream.CallError{Code: code, Err: errRefused})
		if got := errorType(callFailed, err); got != want {
			t.Errorf("%d: %q, want %q", code, got, want)
		}
	}
}
