package mcpserver

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"codemode/internal/bridge"
	"codemode/internal/config"
)

func TestParse(t *testing.T) {
	b := New(nil, Options{
		Config: config.Config{Run: config.Run{Timeout: 30 * time.Second, MaxTimeout: 120 * time.Second}},
	})
	for _, c := range []struct {
		arguments string
		timeout   time.Duration
		notes     int
		err       string // its beginning
	}{
		{`{"code":"1"}`, 30 * time.Second, 0, ""},
		{`{"code":"1","timeout":5.0,"servers":null}`, 5 * time.Second, 0, ""},
		{`{"code":"1","timeout":1000000000}`, 120 * time.Second, 1, ""},
		{`{"code":"1","timeout":1e300}`, 120 * time.Second, 1, ""},
		{`{"code":"1","servers":[]}`, 30 * time.Second, 0, ""},
		{`{"code":"1","session":"a.b-c_1"}`, 30 * time.Second, 0, ""},
		{``, 0, 0, "code:"},
		{`[]`, 0, 0, "arguments:"},
		{`{"code":" \n"}`, 0, 0, "code:"},
		{`{"code":7}`, 0, 0, "code:"},
		{`{"code":null}`, 0, 0, "code:"},
		{`{"code":"1","servers":"github"}`, 30 * time.Second, 0, ""},
		{`{"code":"1","servers":{"name":"github"}}`, 0, 0, "servers:"},
		{`{"code":"1","servers":[1]}`, 0, 0, "servers:"},
		{`{"code":"1","timeout":0}`, 0, 0, "timeout:"},
		{`{"code":"1","timeout":-3}`, 0, 0, "timeout:"},
		{`{"code":"1","timeout":1.5}`, 0, 0, "timeout:"},
		{`{"code":"1","timeout":"5"}`, 5 * time.Second, 0, ""},
		{`{"code":"1","timeout":"five"}`, 0, 0, "timeout:"},
		{`{"code":"1","timout":5}`, 0, 0, `timout: there is no such argument; did you mean "timeout"?`},
		{`{"code":"1","timeout_seconds":5}`, 0, 0, `timeout_seconds: there is no such argument; did you mean "timeout"?`},
		{`{"code":"1","mcpServer":["x"]}`, 0, 0, `mcpServer: there is no such argument; did you mean "servers"?`},
		{`{"code":"1","python_code":"2"}`, 0, 0, `python_code: there is no such argument; did you mean "code"?`},
		{`{"code":"1","language":"py"}`, 0, 0, `language: there is no such argument; there are code, servers, session, timeout`},
		{`{"code":"1","timeout":true}`, 0, 0, "timeout:"},
		{`{"code":"1","session":"../x"}`, 0, 0, "session:"},
		{`{"code":"1","session":""}`, 0, 0, "session:"},
		{`{"code":"1","session":"."}`, 0, 0, "session:"},
		{`{"code":"1","session":".."}`, 0, 0, "session:"},
		{`{"code":"1","session":".hidden"}`, 0, 0, "session:"},
		{`{"code":"1","session":"-rf"}`, 0, 0, "session:"},
	} {
		req, notes, err := b.parse(json.RawMessage(c.arguments), bridge.Request{})
		if c.err != "" {
			if err == nil || !strings.HasPrefix(err.Error(), c.err) {
				t.Errorf("%s: error %v, want one about %s", c.arguments, err, c.err)
			}
			continue
		}
		if err != nil || req.Timeout != c.timeout || len(notes) != c.notes {
			t.Errorf("%s: timeout %v, notes %q, error %v", c.arguments, req.Timeout, notes, err)
		}
	}
	if req, _, _ := b.parse(json.RawMessage(`{"code":"1","servers":"github"}`), bridge.Request{}); !slices.Equal(
		req.Servers, []string{"github"},
	) {
		t.Errorf("one name alone is %q", req.Servers)
	}
	if req, _, _ := b.parse(json.RawMessage(`{"code":"1","servers":[]}`), bridge.Request{}); req.Servers == nil {
		t.Error("an empty list of servers means none, not all")
	}
}

func TestValidationErrorIsAResult(t *testing.T) {
	out := New(nil, Options{}).call(t.Context(), json.RawMessage(`{}`), bridge.Request{})
	if out.Status != bridge.StatusValidationError || !errors.Is(out.Err, nil) {
		t.Errorf("%+v", out)
	}
	if res := toolResult(out, Form{Mode: "compact", Structured: true}); !res.IsError {
		t.Error("isError is false")
	}
}

// TestTraceParent reads the span that a call is made in from its _meta.
func TestTraceParent(t *testing.T) {
	got := traceParent(map[string]any{"traceparent": "00-4b-00-01", "tracestate": 7, "other": "x"})
	if got.Traceparent != "00-4b-00-01" || got.Tracestate != "" {
		t.Errorf("%+v", got)
	}
}
