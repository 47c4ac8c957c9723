package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"codemode/internal/config"
	"codemode/internal/fakemcp"
)

// ask asks a server of a pool.
func (f *fixture) ask(server, method, params string) (string, error) {
	f.t.Helper()
	r, err := NewRequest(method, json.RawMessage(params))
	if err != nil {
		f.t.Fatal(err)
	}
	raw, err := f.Request(f.ctx(), server, r)
	return string(raw), err
}

// TestRequests asks for all there is, over each transport.
func TestRequests(t *testing.T) {
	const paths = "resources.#.uri"
	servers := []config.Server{fake("stdio", "-resources", "-pages", "2"), fake("modern", "-resources", "-modern")}
	for _, path := range []string{"/mcp", "/json", "/stateless", "/sse"} {
		far := newSite(t, fakemcp.Handler("-resources", "-pages", "2")).at(path)
		far.Name = path
		servers = append(servers, far)
	}
	f := newPool(t, nil, servers...)
	for _, s := range servers {
		for _, c := range []struct{ method, params, path, want string }{
			{"resources/list", `{}`, paths, `["fake://blob","fake://dir","fake://json","fake://none","fake://text"]`},
			{"resources/list", ``, "nextCursor", ``},
			{"resources/templates/list", `{}`, "resourceTemplates.#.uriTemplate", `["fake://big/{bytes}"]`},
			{"resources/read", `{"uri":"fake://text"}`, "contents.0.text", `text of fake://text`},
			{"resources/read", `{"uri":"fake://text"}`, "contents.0.text", `text of fake://text`}, // again
			{"resources/read", `{"uri":"fake://dir"}`, "contents.#", `3`},
			{"prompts/list", `{}`, "prompts.0.arguments.#.name", `["name","style"]`},
			{"prompts/get", `{"name":"greet","arguments":{"name":"Ada"}}`, "messages.0.content.text", `Greet Ada. `},
			{
				"completion/complete",
				`{"ref":{"type":"ref/prompt","name":"greet"},"argument":{"name":"style","value":"f"},"context":{"arguments":{"name":"Ada"}}}`,
				"completion.values", `["ref/prompt","greet","style","f","name=Ada"]`,
			},
		} {
			got, err := f.ask(s.Name, c.method, c.params)
			if answer := gjson.Get(got, c.path).String(); err != nil || answer != c.want {
				t.Errorf("%s: %s %s: %v, %.300s, want %s", s.Name, c.method, c.params, err, got, c.want)
			}
		}
	}
}

func TestRequestsAreVerbatim(t *testing.T) {
	f := newPool(t, nil, fake("fake", "-resources"))
	for _, want := range []string{
		`{ "contents":[{"uri":"a","text":"\u00e9","odd":1e3}], "big":12345678901234567890 }`,
		`{"contents":"not even a list"}`,
		`{"contents":[],"isError":true}`,
		`{}`,
	} {
		uri, _ := json.Marshal(map[string]string{"uri": "wrong://verbatim/" + want})
		if got, err := f.ask("fake", "resources/read", string(uri)); err != nil || got != want {
			t.Errorf("the answer is %s, %v, want %s", got, err, want)
		}
	}
}

// TestRequestsRefused is about a server that offers nothing, and about what none can be asked.
func TestRequestsRefused(t *testing.T) {
	f := newPool(t, nil, fake("plain"))
	for method, params := range map[string]string{
		"resources/list": ``, "resources/templates/list": ``, "resources/read": `{"uri":"a"}`, "prompts/list": ``,
		"prompts/get":         `{"name":"a"}`,
		"completion/complete": `{"ref":{"type":"ref/prompt","name":"a"},"argument":{"name":"b","value":""}}`,
	} {
		what, _, _ := strings.Cut(method, "/")
		_, err := f.ask("plain", method, params)
		if want := `server "plain" offers no ` + what; err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want %s", method, err, want)
		}
	}
	for _, c := range []struct{ method, params, want string }{
		{"tools/call", `{"name":"echo"}`, `no server can be asked for "tools/call"; there are completion/complete, `},
		{"resources/subscribe", `{"uri":"a"}`, "no server can be asked for"},
		{"resources/list", `{"cursor":"x"}`, `params of resources/list: it takes no "cursor"`},
		{"resources/list", `[]`, "params of resources/list: "},
		{"resources/read", `{}`, `params of resources/read: "uri" is missing`},
		{"resources/read", `{"uri":null}`, `"uri" is missing`},
		{"resources/read", `{"uri":"a","URI":"b"}`, `it takes no "URI"`},
		{"resources/read", `{"uri":["a"]}`, "params of resources/read: "},
		{"resources/read", `{"uri":"a","_meta":{}}`, `it takes no "_meta"`},
		{"prompts/get", `{"name":"a","arguments":{"n":1}}`, "params of prompts/get: "},
		{"completion/complete", `{"ref":{"type":"ref/prompt","name":"a"},"argument":null}`, `"argument" is missing`},
		{"completion/complete", `{"ref":{"type":"else"},"argument":{"name":"a","value":""}}`, `"else"`},
		{"completion/complete", `{"ref":{"type":"ref/prompt","name":"a"},"argument":{"name":"a","value":"","x":1}}`, `"x"`},
	} {
		if _, err := NewRequest(c.method, json.RawMessage(c.params)); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %s: %v, want %s", c.method, c.params, err, c.want)
		}
	}
}

// TestRequestsGoWrong is about a server that answers requests as no server should.
func TestRequestsGoWrong(t *testing.T) {
	t.Parallel()
	const secret = "hunter2-and-more"
	f := newPool(t, func(o *Options) {
		o.MaxMessage, o.CallTimeout = 1<<20, 2*time.Second
	}, config.Server{
		Name: "fake", Command: fakePath, Args: []string{"-resources"}, Env: map[string]string{"FAKE_TOKEN": secret},
	})
	var call *CallError
	_, err := f.ask("fake", "resources/read", `{"uri":"wrong://refuse/$FAKE_TOKEN"}`)
	if !errors.As(err, &call) || call.Code != -32002 || string(call.Data) != `{"uri":1.50}` ||
		!strings.HasPrefix(err.Error(), "no such luck with") || strings.Contains(err.Error(), secret) {
		t.Errorf("a server's own error is %v, %+v", err, call)
	}
	_, err = f.ask("fake", "resources/read", `{"uri":"fake://big/1100000"}`)
	if err == nil || !strings.Contains(err.Error(), "longer than 1048576 bytes") {
		t.Errorf("a huge resource is %v", err)
	}
	if _, err = f.ask("fake", "resources/read", `{"uri":"wrong://hang"}`); !errors.Is(err, context.DeadlineExceeded) ||
		!strings.Contains(err.Error(), `resources/read of server "fake" took longer than 2s`) {
		t.Errorf("without an answer it is %v", err)
	}
	_, err = f.ask("fake", "resources/read", `{"uri":"wrong://crash"}`)
	if !errors.As(err, &call) || !call.Crashed || !strings.Contains(call.Stderr, "crashing as told") {
		t.Errorf("a crash is %v", err)
	}
	if got, err := f.ask("fake", "resources/read", `{"uri":"fake://big/3"}`); err != nil ||
		!strings.Contains(got, `"xxx"`) {
		t.Errorf("afterwards: %s, %v", got, err)
	}
}

// TestRequestedListWithoutEnd is about lists that are refused for the first bound they meet.
func TestRequestedListWithoutEnd(t *testing.T) {
	t.Parallel()
	for how, want := range map[string]string{
		"cycle":     `a cursor comes for the second time`,
		"bytes":     "more than 67108864 bytes",
		"resources": "more than 20000 resources",
		"pages":     "more than 1000 pages",
	} {
		t.Run(how, func(t *testing.T) {
			f := newPool(t, nil, fake("endless", "-resources", "-resources-listing", how))
			_, err := f.ask("endless", "resources/list", ``)
			var call *CallError
			if !errors.As(err, &call) || !strings.Contains(err.Error(), want) {
				t.Errorf("the error is %v, want one that says %q", err, want)
			}
			if got := f.text("endless", "echo", `{"message":"still there"}`); got != "still there" {
				t.Errorf("afterwards it says %q", got)
			}
		})
	}
}
