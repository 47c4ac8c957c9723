package bridge

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"codemode/internal/config"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func text(s string) Text { return Text{Head: []byte(s), Total: int64(len(s))} }

func TestCompact(t *testing.T) {
	for _, c := range []struct {
		name       string
		out        Outcome
		text       string
		structured string
	}{
		{"nothing", Outcome{Status: StatusSuccess}, "success", `{"status":"success","summary":"success"}`},
		{
			"output",
			Outcome{Status: StatusSuccess, Stdout: text("\n  a\n\n()\n")},
			"\n  a\n\n()", `{"stdout":["","  a","","()"]}`,
		},
		{"no newline", Outcome{Status: StatusSuccess, Stdout: text("a")}, "a", `{"stdout":["a"]}`},
		{
			"value",
			Outcome{Status: StatusSuccess, Repr: "{'a': 1}", Value: json.RawMessage(`{"a":1}`)},
			"result: {'a': 1}", `{"result":{"a":1}}`,
		},
		{"a value that is no JSON", Outcome{Status: StatusSuccess, Repr: "<x>"}, "result: <x>", `{"result":"<x>"}`},
		{
			"everything",
			Outcome{
				Status: StatusTimeout, ExitCode: 124, Stdout: text("out\n"), Stderr: text("err\n"), Error: "timeout after 2 s",
				Timeout: 2 * time.Second, Notes: []string{"task left"}, Session: "s", Servers: []string{"github"},
			},
			"status: timeout\nexit: 124\nout\nstderr:\nerr\nerror: timeout after 2 s\nnote: task left",
			`{"status":"timeout","summary":"timeout after 2 s","exitCode":124,"servers":["github"],"stdout":["out"],"stderr":["err"],` +
				`"error":"timeout after 2 s","timeoutSeconds":2,"notes":["task left"],"session":"s"}`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			res := c.out.CallToolResult(Form{Mode: "compact", Structured: true})
			if got := res.Content[0].(*mcp.TextContent).Text; got != c.text {
				t.Errorf("text:\n%q, want\n%q", got, c.text)
			}
			if got := string(mustJSON(res.StructuredContent)); got != c.structured {
				t.Errorf("structured:\n%s, want\n%s", got, c.structured)
			}
			if res.IsError != (c.out.Status != StatusSuccess) {
				t.Errorf("isError %v for %s", res.IsError, c.out.Status)
			}
		})
	}
}

func TestOtherModes(t *testing.T) {
	out := Outcome{Status: StatusSuccess, Stdout: text("a\nb\n")}
	got := out.CallToolResult(Form{Mode: "toon", Structured: true}).Content[0].(*mcp.TextContent).Text
	if want := "```toon\nstatus: success\nsummary: success\nstdout[2]: a,b\n```"; got != want {
		t.Errorf("toon: %q, want %q", got, want)
	}
	got = out.CallToolResult(Form{Mode: "json", Structured: true}).Content[0].(*mcp.TextContent).Text
	if want := `{"status":"success","summary":"success","stdout":["a","b"]}`; got != want {
		t.Errorf("json: %s, want %s", got, want)
	}
}

func TestCutOutputSaysWhereTheRestIs(t *testing.T) {
	r := newRecorder(64, 1<<20, testOutputs(t))
	r.write([]byte(strings.Repeat("0123456789\n", 100)))
	out := Outcome{Status: StatusSuccess, Stdout: r.finish(), Session: "default", Run: 3}
	defer out.Stdout.spill.close()
	got := out.compact()
	const note = "note: stdout is cut; the whole is the resource codemode://output/default/3/stdout; " +
		"better: assign what is large to a variable, and print a part of it"
	if !strings.HasPrefix(got, note+"\n0123456789\n") || !strings.HasSuffix(got, "\n0123456789\n"+note) {
		t.Errorf("head, tail or the notes around them are missing: %q", got)
	}
	if !strings.Contains(got, "\n[… 1056 bytes, 96 lines of stdout left out …]\n") {
		t.Errorf("nothing tells where the gap is: %q", got)
	}
}

func TestParse(t *testing.T) {
	b := &Bridge{
		opts: Options{Config: config.Config{Run: config.Run{Timeout: 30 * time.Second, MaxTimeout: 120 * time.Second}}},
	}
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
		req, notes, err := b.parse(json.RawMessage(c.arguments))
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
	if req, _, _ := b.parse(json.RawMessage(`{"code":"1","servers":"github"}`)); !slices.Equal(
		req.Servers, []string{"github"},
	) {
		t.Errorf("one name alone is %q", req.Servers)
	}
	if req, _, _ := b.parse(json.RawMessage(`{"code":"1","servers":[]}`)); req.Servers == nil {
		t.Error("an empty list of servers means none, not all")
	}
}

func TestValidationErrorIsAResult(t *testing.T) {
	out := (&Bridge{}).call(t.Context(), json.RawMessage(`{}`), caller{})
	if out.Status != StatusValidationError || !errors.Is(out.Err, nil) {
		t.Errorf("%+v", out)
	}
	if res := out.CallToolResult(Form{Mode: "compact", Structured: true}); !res.IsError {
		t.Error("isError is false")
	}
}
