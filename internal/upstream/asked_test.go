//lint:file-ignore SA1019 sampling, roots and logging are deprecated since MCP 2026-07-28, and servers of today use them

package upstream

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"codemode/internal/config"
	"codemode/internal/fakemcp"
)

type callName struct{}

// asker answers what servers ask, and remembers it.
type asker struct {
	mu    sync.Mutex
	asked []mcp.InputRequest
	calls [][]string // for which calls that may have been
	held  chan bool  // gets one for a question that says so, which is answered when it is closed
}

func (u *asker) answer(
	_ context.Context, _ string, of About, request mcp.InputRequest,
) (mcp.InputResponse, error) {
	if p, ok := request.(*mcp.ElicitParams); ok && p.Message == "hold" {
		u.held <- true
		<-u.held
		return &mcp.ElicitResult{Action: "cancel"}, nil
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	var names []string
	for _, c := range of.Calls {
		name, _ := c.Value(callName{}).(string)
		names = append(names, name)
	}
	u.asked, u.calls = append(u.asked, request), append(u.calls, names)
	switch p := request.(type) {
	case *mcp.ElicitParams:
		if p.URL != "" {
			return &mcp.ElicitResult{Action: "decline"}, nil
		}
		return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"age": 36}}, nil
	case *mcp.ListRootsParams:
		return &mcp.ListRootsResult{Roots: []*mcp.Root{{URI: "file:///home"}}}, nil
	}
	return &mcp.CreateMessageWithToolsResult{
		Role: "assistant", Model: "m", Content: []mcp.Content{&mcp.TextContent{Text: "so be it"}},
	}, nil
}

// can is a client that can be asked for everything.
func can() *mcp.ClientCapabilities {
	return &mcp.ClientCapabilities{
		RootsV2: &mcp.RootCapabilities{}, Sampling: &mcp.SamplingCapabilities{},
		Elicitation: &mcp.ElicitationCapabilities{
			Form: &mcp.FormElicitationCapabilities{}, URL: &mcp.URLElicitationCapabilities{},
		},
	}
}

// old is a handler without the newest revision of MCP.
func old(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if bytes.Contains(body, []byte(`"server/discover"`)) {
			http.Error(w, "no such method", http.StatusNotFound)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		h.ServeHTTP(w, r)
	})
}

// TestServerAsks has a server ask in the middle of a call, over each transport and in both eras, while another call is
// under way.
func TestServerAsks(t *testing.T) {
	far := newSite(t, fakemcp.Handler("-asks"))
	former := newSite(t, old(fakemcp.Handler("-asks")))
	for name, c := range map[string]struct {
		server config.Server
		sure   bool // the connection says which call it is
	}{
		"stdio":                   {fake("far", "-asks"), false},
		"stdio, newest":           {fake("far", "-asks", "-modern"), true},
		"Streamable HTTP":         {former.at("/mcp"), true},
		"Streamable HTTP, newest": {far.at("/mcp"), true},
		"SSE":                     {config.Server{Name: "far", URL: far.at("/sse").URL, Transport: config.SSE}, false},
	} {
		t.Run(name, func(t *testing.T) {
			u := &asker{held: make(chan bool)}
			f := newPool(t, func(o *Options) { o.Answer, o.Offers = u.answer, can }, c.server)
			ask := func(name, what, message string) (json.RawMessage, error) {
				ctx := context.WithValue(t.Context(), callName{}, name)
				return f.Call(ctx, "far", "ask", json.RawMessage(`{"what":"`+what+`","message":"`+message+`"}`))
			}
			var work sync.WaitGroup
			defer work.Wait()
			work.Go(func() {
				if raw, err := ask("other", "form", "hold"); err != nil || !strings.Contains(textOf(t, raw), "cancel") {
					t.Errorf("the other call: %s, %v", raw, err)
				}
			})
			<-u.held
			defer close(u.held)
			for what, want := range map[string]string{
				"form":   `{"form":{"action":"accept","content":{"age":36`,
				"url":    `{"url":{"action":"decline"}}`,
				"roots":  `{"roots":{"roots":[{"uri":"file:///home"}]}}`,
				"sample": `{"sample":{"content":{"type":"text","text":"so be it"},"model":"m","role":"assistant"}}`,
				"both":   `"url":{"action":"decline"}}`,
			} {
				raw, err := ask("asking", what, "well?")
				if err != nil || !strings.Contains(textOf(t, raw), want) {
					t.Errorf("%s: %s, %v, want %s", what, raw, err, want)
				}
			}
			// By URL no server of the SDK takes an argument so large, and the race detector makes it slow.
			if c.server.URL == "" && !testing.Short() {
				raw, err := ask("asking", "form", strings.Repeat("x", maxWaiting))
				if got := string(raw) + fmt.Sprint(err); !strings.Contains(got, errWaiting.Error()) {
					t.Errorf("of a large question beside another: %.300s, want %v", got, errWaiting)
				}
			}
			if len(u.asked) != 6 {
				t.Errorf("asked %d times", len(u.asked))
			}
			for _, names := range u.calls {
				if want := map[bool]string{true: "asking", false: "other asking"}[c.sure]; strings.Join(names, " ") != want {
					t.Errorf("asked for the calls %q, want %q", names, want)
				}
			}
		})
	}
}

// TestFormKeepsItsOrder wants a form as the server wrote it.
func TestFormKeepsItsOrder(t *testing.T) {
	const form = `{"type":"object","properties":{"z":{"type":"string"},"a":{"type":"string","x-new":1.50}}}`
	u := &asker{}
	f := newPool(t, func(o *Options) { o.Answer, o.Offers = u.answer, can }, fake("stub"))
	f.lines("stub", `{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{"message":"?","_meta":{"x":1},"requestedSchema":`+form+`}}`)
	f.eventually("it is asked", func() bool { u.mu.Lock(); defer u.mu.Unlock(); return len(u.asked) == 1 })
	p := u.asked[0].(*mcp.ElicitParams)
	if got, _ := p.RequestedSchema.(json.RawMessage); string(got) != form || p.Meta != nil {
		t.Errorf("asked %+v", p)
	}
}

// lines has a server write lines before it answers a call.
func (f *fixture) lines(server string, lines ...string) {
	f.t.Helper()
	args, _ := json.Marshal(map[string][]byte{"lines": []byte(strings.Join(lines, "\n"))})
	f.text(server, "lines", string(args))
}

// TestServerAsksInVain is about clients that cannot answer: a server learns that before it asks, and when it asks all
// the same.
func TestServerAsksInVain(t *testing.T) {
	f := newPool(t, nil, fake("stub", "-asks"))
	if got := f.text("stub", "can", `{}`); got != `{"elicitation":null,"roots":null,"sampling":null}` {
		t.Errorf("the server was told %s", got)
	}
	_, err := f.Call(t.Context(), "stub", "ask", json.RawMessage(`{"what":"roots","message":"?"}`))
	if !errors.As(err, new(*CallError)) {
		t.Errorf("the call ended with %v", err)
	}
	f = newPool(t, func(o *Options) { o.Offers = can }, fake("stub", "-asks"))
	want := `{"elicitation":{"form":{},"url":{}},"roots":{},"sampling":{}}`
	if got := f.text("stub", "can", `{}`); got != want {
		t.Errorf("the server was told %s", got)
	}
}

// TestQuestionHoldsTheClock: while its user is asked, no call has a limit that runs (see TestCallLimit).
func TestQuestionHoldsTheClock(t *testing.T) {
	u := &asker{}
	for _, args := range [][]string{{"-asks"}, {"-asks", "-modern"}} {
		var f *fixture
		answer := func(ctx context.Context, s string, of About, r mcp.InputRequest) (mcp.InputResponse, error) {
			var live *session
			f.entry(s).update(func(st *serverState) { live = st.live })
			live.calls.update(func(st *callsState) {
				for _, slot := range st.slots {
					if slot.asking == 0 {
						t.Errorf("%q: the limit of a call runs", args)
					}
				}
			})
			return u.answer(ctx, s, of, r)
		}
		f = newPool(t, func(o *Options) { o.Answer, o.Offers = answer, can }, fake("stub", args...))
		if got := f.text("stub", "ask", `{"what":"url","message":"?"}`); !strings.Contains(got, "decline") {
			t.Errorf("the answer is %s", got)
		}
	}
}

// TestQuestionEnds has a question go with what it was asked for.
func TestQuestionEnds(t *testing.T) {
	for name, end := range map[string]func(f *fixture, cancel func()){
		"the call":   func(_ *fixture, cancel func()) { cancel() },
		"the server": func(f *fixture, _ func()) { f.entry("stub").retire(errors.New("it is gone")); f.entry("stub").end(nil) },
		"the question": func(f *fixture, _ func()) {
			f.lines("stub", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`,
				`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			asked, over := make(chan bool), make(chan bool)
			f := newPool(t, func(o *Options) {
				o.Offers = can
				o.Answer = func(
					ctx context.Context, _ string, _ About, _ mcp.InputRequest,
				) (mcp.InputResponse, error) {
					asked <- true
					<-ctx.Done()
					close(over)
					return nil, &jsonrpc.Error{Code: -1, Message: "nobody answers"}
				}
			}, fake("stub", "-asks"))
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() {
				_, err := f.Call(ctx, "stub", "ask", json.RawMessage(`{"what":"form","message":"?"}`))
				ended <- err
			}()
			<-asked
			end(f, cancel)
			<-over
			cancel()
			if err := <-ended; err == nil {
				t.Error("the call has succeeded")
			}
		})
	}
}

// TestServerTells is about progress and logging.
func TestServerTells(t *testing.T) {
	told := make(chan Progress, 10)
	f := newPool(t, func(o *Options) {
		o.OnProgress = func(ctx context.Context, server string, p Progress) {
			if server == "stub" && ctx.Value(callName{}) == "call" {
				told <- p
			}
		}
		o.Secrets = func(config.Server) []string { return []string{"hunter2secret"} }
	}, fake("stub"))
	args, _ := json.Marshal(map[string][]byte{"lines": []byte(
		`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":TOKEN,"progress":1,"total":2,"message":"half of hunter2secret"}}` + "\n" +
			`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"notice","logger":"db","data":{"password":"hunter2secret"}}}` + "\n" +
			strings.Repeat(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"alert","data":"noise"}}`+"\n", 200),
	)})
	if _, err := f.Call(context.WithValue(t.Context(), callName{}, "call"), "stub", "lines", args); err != nil {
		t.Fatal(err)
	}
	if p := <-told; p != (Progress{Done: 1, Total: 2, Message: "half of ***"}) {
		t.Errorf("told %+v", p)
	}
	f.waitForLog("is left out for a minute")
	log := f.log.String()
	if !strings.Contains(log, `level=INFO msg="the server's log" server=stub severity=notice logger=db text="{\"password\":\"***\"}"`) ||
		strings.Count(log, "text=noise") != maxLogged-1 {
		t.Errorf("the log has %d lines of noise, and\n%.2000s", strings.Count(log, "text=noise"), log)
	}
	// One that ends and starts again says no more by that.
	if _, err := f.Call(t.Context(), "stub", "crash", nil); err == nil {
		t.Fatal("it has not ended")
	}
	if _, err := f.Call(context.WithValue(t.Context(), callName{}, "call"), "stub", "lines", args); err != nil {
		t.Fatal(err)
	}
	<-told
	if n := strings.Count(f.log.String(), "text=noise"); n != maxLogged-1 {
		t.Errorf("with those after its restart, the log has %d lines of noise", n)
	}
}

// TestRootsChanged tells servers that run of other roots, those alone that were told that they would hear of it.
func TestRootsChanged(t *testing.T) {
	former := newSite(t, old(fakemcp.Handler("-asks")))
	for name, server := range map[string]config.Server{
		"stdio": fake("far", "-asks"), "Streamable HTTP": former.at("/mcp"),
		"SSE": {Name: "far", URL: newSite(t, fakemcp.Handler("-asks")).at("/sse").URL, Transport: config.SSE},
	} {
		for _, tells := range []bool{true, false} {
			f := newPool(t, func(o *Options) {
				o.Offers = func() *mcp.ClientCapabilities {
					return &mcp.ClientCapabilities{RootsV2: &mcp.RootCapabilities{ListChanged: tells}}
				}
			}, server)
			before := f.text("far", "changes", `{}`)
			f.RootsChanged()
			if tells {
				f.eventually(name+" is told", func() bool { return f.text("far", "changes", `{}`) > before })
			} else if after := f.text("far", "changes", `{}`); after != before {
				t.Errorf("%s was told %s times, after %s", name, after, before)
			}
		}
	}
}

// TestOpenFirst has a server refuse a call until its user has opened a URL: the call is made again when the server says
// that it is done, and else the error says what came of it.
func TestOpenFirst(t *testing.T) {
	t.Parallel()
	const never = `{"how":"never"}`
	for name, c := range map[string]struct {
		action, args, want string
		held               int
	}{
		"done":     {"accept", "{}", `"done at last"`, 1},
		"not told": {"accept", never, "and can be when it is done: its server has not said so in time", 1},
		"no":       {"decline", never, "its user was asked to open a URL: the user said no", 0},
		"closed":   {"cancel", never, "the user closed the question without an answer, and is asked again when code calls", 0},
		"nobody":   {"", never, "its user was asked to open a URL: nobody is there", 0},
	} {
		held, released := 0, 0
		server := fake("far")
		if name == "not told" {
			server.CallTime = 600 * time.Millisecond
		}
		f := newPool(t, func(o *Options) {
			o.Hold = func(context.Context) func() { held++; return func() { released++ } }
			o.Answer = func(context.Context, string, About, mcp.InputRequest) (mcp.InputResponse, error) {
				if c.action == "" {
					return nil, errors.New("nobody is there")
				}
				return &mcp.ElicitResult{Action: c.action}, nil
			}
		}, server)
		raw, err := f.Call(t.Context(), "far", "open_first", json.RawMessage(c.args))
		if got := string(raw) + fmt.Sprint(err); !strings.Contains(got, c.want) || (err == nil) != (name == "done") {
			t.Errorf("%s: %s", name, got)
		}
		var call *CallError
		if err != nil && (!errors.As(err, &call) || call.Code != mcp.CodeURLElicitationRequired || call.Crashed) {
			t.Errorf("%s: the error is %#v", name, err)
		}
		if held != c.held || released != held {
			t.Errorf("%s: held %d times, released %d times", name, held, released)
		}
	}
}

// TestAsksForOneThatWasLeft has a server ask after a call was left that it has not answered: the question may be about
// that, and so is not put as one of the other call's alone.
func TestAsksForOneThatWasLeft(t *testing.T) {
	script := `while read -r line; do
id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
case $line in
*'"initialize"'*) echo '{"jsonrpc":"2.0","id":'$id',"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"x","version":"1"}}}';;
*'"tools/list"'*) echo '{"jsonrpc":"2.0","id":'$id',"result":{"tools":[{"name":"left","inputSchema":{"type":"object"}},{"name":"asks","inputSchema":{"type":"object"}}]}}';;
*'"name":"left"'*) echo left >&2;;
*'"name":"asks"'*) asks=$id; echo '{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{"message":"Go on?","requestedSchema":{"type":"object","properties":{}}}}';;
*'"id":"q"'*) echo '{"jsonrpc":"2.0","id":'$asks',"result":{"content":[]}}';;
esac
done`
	var asked []any
	f := newPool(t, func(o *Options) {
		o.Offers = can
		o.Answer = func(_ context.Context, _ string, of About, _ mcp.InputRequest) (mcp.InputResponse, error) {
			for _, c := range of.Calls {
				asked = append(asked, c.Value(callName{}))
			}
			return &mcp.ElicitResult{Action: "accept"}, nil
		}
	}, config.Server{Name: "near", Command: "sh", Args: []string{"-c", script}})
	left, leave := context.WithCancel(context.WithValue(t.Context(), callName{}, "left"))
	go func() {
		f.waitForLog("line=left")
		leave()
	}()
	if _, err := f.Call(left, "near", "left", nil); err == nil {
		t.Fatal("it was answered")
	}
	if _, err := f.Call(context.WithValue(t.Context(), callName{}, "asks"), "near", "asks", nil); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(asked, []any{"left", "asks"}) {
		t.Errorf("it may be about %v", asked)
	}
}
