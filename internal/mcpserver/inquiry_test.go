//lint:file-ignore SA1019 sampling, roots and logging are deprecated since MCP 2026-07-28, and servers of today use them

package mcpserver

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"codemode/internal/audit"
	"codemode/internal/bridge"
)

// answering are the options of a client that can be asked for everything, and remembers what it was.
func answering(asked *[]string) *mcp.ClientOptions {
	return &mcp.ClientOptions{
		Capabilities: &mcp.ClientCapabilities{RootsV2: &mcp.RootCapabilities{}, Elicitation: &mcp.ElicitationCapabilities{
			Form: &mcp.FormElicitationCapabilities{}, URL: &mcp.URLElicitationCapabilities{},
		}},
		ElicitationHandler: func(_ context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			*asked = append(*asked, req.Params.Message+" "+req.Params.URL)
			if req.Params.Mode == "url" {
				return &mcp.ElicitResult{Action: "accept"}, nil
			}
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"age": 36, "name": "Ada"}}, nil
		},
		CreateMessageHandler: func(_ context.Context, req *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
			*asked = append(*asked, req.Params.Messages[0].Content.(*mcp.TextContent).Text)
			return &mcp.CreateMessageResult{Role: "assistant", Model: "m", Content: &mcp.TextContent{Text: "so be it"}}, nil
		},
	}
}

// TestServerAsksTheClient has a server of either era ask a client of either era in the middle of a call.
func TestServerAsksTheClient(t *testing.T) {
	for _, server := range [][]string{{"-asks"}, {"-asks", "-modern"}} {
		for _, protocol := range []string{"2025-11-25", "2026-07-28"} {
			t.Run(strings.Join(server, " ")+" "+protocol, func(t *testing.T) {
				var asked []string
				expose := func() *kit {
					return newKit(t, func(o *bridge.Options) { o.Config.Expose = []string{"fake.ask"} }, fake("fake", server...))
				}
				k := expose()
				client := k.serveClient(answering(&asked), &mcp.ClientSessionOptions{ProtocolVersion: protocol})
				text, _ := k.call(client, map[string]any{"code": strings.Join([]string{
					asks("form", "how\u202e old?"), asks("url", "there:"), asks("sample", "write"), asks("roots", ""),
				}, "\n")})
				contains(
					t, text, `{"form":{"action":"accept","content":{"age":36,"color":"green","name":"Ada"}}}`,
					`{"url":{"action":"accept"}}`, `{"sample":{"content":{"type":"text","text":"so be it"}`, `{"roots":{"roots":[]}}`,
				)
				want(t, strings.Join(asked, "; "), `The server fake asks this in the middle of a call of its ask:`+"\n"+
					`how\u202e old? ; The server fake asks this in the middle of a call of its ask:`+"\n"+
					`there: https://fake.example/consent; write`)
				// With another server's process: what this one asks may still be about the calls of code.
				client = expose().serveClient(answering(&asked), &mcp.ClientSessionOptions{ProtocolVersion: protocol})
				result, err := client.CallTool(t.Context(), &mcp.CallToolParams{
					Name: "fake__ask", Arguments: map[string]any{"what": "form", "message": "exposed"},
				})
				if err != nil {
					t.Fatal(err)
				}
				contains(t, result.Content[0].(*mcp.TextContent).Text, `{"form":{"action":"accept"`)
				contains(t, asked[len(asked)-1], "\nexposed")
			})
		}
	}
}

// TestServerAsksNobody is about a client that can answer nothing, and one with a limit of questions: the call goes on
// without, and the caller is told.
func TestServerAsksNobody(t *testing.T) {
	k := newKit(t, nil, fake("fake", "-asks"))
	text, _ := k.call(k.serve(), map[string]any{
		"code": "import json\nprint(json.dumps(await mcp_fake.can(), separators=(',', ':')))\n" + asks("form", "?") +
			"\nprint(await mcp_fake.request(method='elicitation/create', params={'message': '?'}))",
	})
	contains(
		t, text, `{"elicitation":null,"roots":{"listChanged":true},"sampling":null}`,
		"MCPError multi-round-trip: fulfilling input request \"form\": client does not support elicitation",
		"{'code': -32602, 'message': 'codemode did not ask its user to fill in a form (elicitation/create): this client does not offer that'}",
		"note: server fake asked its user to fill in a form (elicitation/create), and was refused: this client does not offer that",
	)
	var asked []string
	dir := filepath.Join(t.TempDir(), "audit")
	k = newKit(t, func(o *bridge.Options) {
		o.AuditDir, o.Config.Policy.Questions = dir, 1
		o.Config.Audit.Keep, o.Config.Audit.MaxSize = 2, 1<<20
	}, fake("fake", "-asks"))
	client := k.serveClient(answering(&asked), nil)
	text, _ = k.call(client, map[string]any{"code": asks("url", "1") + "\n" + asks("form", "2")})
	contains(
		t, text, `{"url":{"action":"accept"}}`, `{"form":{"action":"cancel"}}`,
		"and was refused: the run has asked its user 1 times, and policy.questions is 1",
	)
	if len(asked) != 1 {
		t.Errorf("asked %q", asked)
	}
	var lines []string
	if _, err := audit.Read(dir, func(r audit.Record, _ []byte) {
		if r.Event == audit.Asked {
			lines = append(lines, r.Server+" "+r.Tool+" "+r.Outcome+" "+r.Note)
		}
	}); err != nil {
		t.Fatal(err)
	}
	want(t, strings.Join(lines, ", "), "fake elicitation/create ok asked by the server in ask: accept")
}

// TestAnswersAreTheServers: what a user has typed that does not fit the form is told to nobody.
func TestAnswersAreTheServers(t *testing.T) {
	k := newKit(t, nil, fake("fake", "-asks"))
	client := k.serveClient(&mcp.ClientOptions{
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"age": "my-passw0rd", "name": "Ada"}}, nil
		},
	}, &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
	text, _ := k.call(client, map[string]any{"code": asks("form", "?")})
	contains(t, text, "what the user has answered does not fit the form")
	if strings.Contains(text, "passw0rd") {
		t.Errorf("the answer is told: %s", text)
	}
	quoted := errors.New(`calling "elicitation/create": json: cannot unmarshal "my-passw0rd" into Go struct field`)
	want(t, withoutAnswer(quoted).Error(), "the client's answer cannot be read")
}

// TestFormsWithoutAnswerAreNotShown: nobody fills in a form whose answer would be dropped. Its server is told why.
func TestFormsWithoutAnswerAreNotShown(t *testing.T) {
	for _, protocol := range []string{"2025-11-25", "2026-07-28"} {
		k := newKit(t, nil, fake("fake"))
		client := k.serveClient(&mcp.ClientOptions{
			ElicitationHandler: func(_ context.Context, q *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
				t.Errorf("the user is shown %s", q.Params.RequestedSchema)
				return &mcp.ElicitResult{Action: "accept", Content: map[string]any{}}, nil
			},
		}, &mcp.ClientSessionOptions{ProtocolVersion: protocol})
		text, _ := k.call(client, map[string]any{"code": `
for field in {"type": "string", "format": "hostname"}, {"type": "string", "enum": ["x"], "default": "y"}:
    params = {"message": "?", "requestedSchema": {"type": "object", "properties": {"colour": field}}}
    print(await mcp_fake.request(method="elicitation/create", params=params))`})
		contains(t, text, `the field "colour" of its form`)
		contains(t, text, `unsupported format`)
		contains(t, text, `does not equal any of`)
		contains(t, text, `-32602`)
		contains(t, text, "note: server fake asked its user to fill in a form (elicitation/create), and was refused: ")
	}
}

// TestProgressReachesTheClient has a server tell of a call's progress, more than anybody reads.
func TestProgressReachesTheClient(t *testing.T) {
	for _, protocol := range []string{"2025-11-25", "2026-07-28"} {
		k := newKit(t, nil, fake("fake"))
		told := make(chan *mcp.ProgressNotificationParams, 1000)
		client := k.serveClient(&mcp.ClientOptions{
			ProgressNotificationHandler: func(_ context.Context, req *mcp.ProgressNotificationClientRequest) {
				told <- req.Params
			},
		}, &mcp.ClientSessionOptions{ProtocolVersion: protocol})
		code := `
import base64
def line(n):
    return '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":TOKEN,"progress":%d,"total":500,"message":"so\\u0007far"}}' % n
await mcp_fake.lines(lines=base64.b64encode("\n".join(line(n + 1) for n in range(500)).encode()).decode())`
		params := &mcp.CallToolParams{Name: "run_python", Arguments: map[string]any{"code": code}}
		params.SetProgressToken("token")
		if _, err := client.CallTool(t.Context(), params); err != nil {
			t.Fatal(err)
		}
		var last mcp.ProgressNotificationParams
		for n := 0; last.Message != `fake.lines: 500 of 500: so\x07far`; n++ {
			p := <-told
			if p.ProgressToken != "token" || p.Progress <= last.Progress || n > 50 {
				t.Fatalf("%d: told %+v after %+v", n, p, last)
			}
			last = *p
		}
	}
}

// TestURLIsOpened has a server refuse a call until its user has opened a URL, and say when that is done.
func TestURLIsOpened(t *testing.T) {
	const refusal = `{"jsonrpc":"2.0","id":ID,"error":{"code":-32042,"message":"sign in first","data":{"elicitations":[` +
		`{"mode":"url","message":"There:","url":"https://fake.example/","elicitationId":"7"}]}}}`
	const done = `{"jsonrpc":"2.0","method":"notifications/elicitation/complete","params":{"elicitationId":"7"}}`
	var asked []string
	opened := make(chan string, 10)
	options := answering(&asked)
	options.ElicitationCompleteHandler = func(_ context.Context, req *mcp.ElicitationCompleteNotificationRequest) {
		opened <- req.Params.ElicitationID
	}
	server := fake("fake")
	server.CallTime = 5 * time.Second // in which it answers however busy the machine is
	k := newKit(t, nil, server)
	client := k.serveClient(options, &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
	lines := func(text string) string {
		return fmt.Sprintf("await mcp_fake.lines(lines=%q)\n", base64.StdEncoding.EncodeToString([]byte(text)))
	}
	text, _ := k.call(client, map[string]any{"code": "import mcp\n" + lines(done) +
		"try: " + lines(refusal) + "except mcp.MCPError as e: print(e)\n" + lines(done+"\n"+done)})
	contains(t, text, "sign in first (its user was asked to open a URL, and has agreed to that; the call was not made",
		"its server has not said so in time")
	if id := <-opened; id != "fake/7" || len(asked) != 1 || len(opened) > 0 {
		t.Errorf("opened %q and %d more; asked %q", id, len(opened), asked)
	}
}

// TestMendedServerAsks is about a codemode that could not run code when its client came.
func TestMendedServerAsks(t *testing.T) {
	var asked []string
	k := newKit(t, nil, fake("fake", "-asks"))
	mended := make(chan bool)
	u := Unready{
		Version: "test", Log: slog.New(slog.DiscardHandler), Why: func() error { return errors.New("broken") },
		Mend: func(context.Context) (*Server, func()) { <-mended; return k.server, func() {} },
	}
	client := k.connect(u.Serve, answering(&asked), &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
	k.call(client, map[string]any{"code": "1"})
	close(mended)
	var text string
	k.eventually("it is mended", func() bool {
		text, _ = k.call(client, map[string]any{"code": asks("form", "?") + "\n" + asks("roots", "")})
		return !strings.Contains(text, "broken")
	})
	contains(t, text, `{"form":{"action":"accept"`, `{"roots":{"roots":[]}}`)
}

// TestRootsChanged hands on to servers that the client has other roots.
func TestRootsChanged(t *testing.T) {
	k := newKit(t, nil, fake("fake", "-asks"))
	client := k.serveClient(nil, &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
	changes := func() string {
		text, _ := k.call(client, map[string]any{"code": "print(await mcp_fake.changes())"})
		return text
	}
	before := changes()
	k.client.AddRoots(&mcp.Root{URI: "file:///other"})
	k.eventually("the server is told", func() bool { return changes() != before })
}
