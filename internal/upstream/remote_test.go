package upstream

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"codemode/internal/config"
	"codemode/internal/fakemcp"
	"codemode/internal/hint"
	"codemode/internal/publicnet"
)

// site is a server by URL that can be taken away and come back at its address.
type site struct {
	t       *testing.T
	addr    string
	handler atomic.Pointer[http.Handler]
	server  *httptest.Server
}

func newSite(t *testing.T, h http.Handler) *site {
	t.Helper()
	s := &site{t: t, addr: "127.0.0.1:0"}
	s.serve(h)
	s.up()
	t.Cleanup(s.down)
	return s
}

func (s *site) serve(h http.Handler) { s.handler.Store(&h) }

func (s *site) up() {
	s.t.Helper()
	l, err := net.Listen("tcp", s.addr)
	if err != nil {
		s.t.Fatal(err)
	}
	s.addr = l.Addr().String()
	s.server = httptest.NewUnstartedServer(
		http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { (*s.handler.Load()).ServeHTTP(w, r) }),
	)
	s.server.Listener.Close()
	s.server.Listener = l
	s.server.Start()
}

func (s *site) down() {
	s.server.CloseClientConnections()
	s.server.Close()
}

// at is the entry of the server at a path.
func (s *site) at(path string) config.Server {
	return config.Server{Name: "far", URL: "http://" + s.addr + path, Transport: config.HTTP}
}

// TestRemote calls a server by URL over each transport there is.
func TestRemote(t *testing.T) {
	for _, path := range []string{"/mcp", "/json", "/stateless", "/sse"} {
		t.Run(path, func(t *testing.T) {
			site := newSite(t, fakemcp.Handler("-tools", "30", "-pages", "7"))
			f := newPool(t, nil, site.at(path))
			if names := f.names("far"); len(names) < 40 {
				t.Errorf("%d tools: %q", len(names), names)
			}
			if got := f.text("far", "echo", `{"message":"hi"}`); got != "hi" {
				t.Errorf("the answer is %q", got)
			}
			var calls sync.WaitGroup
			for i := range 50 {
				calls.Go(func() {
					want := fmt.Sprintf("message %d", i)
					raw, err := f.Call(t.Context(), "far", "echo", json.RawMessage(`{"message":"`+want+`"}`))
					if err != nil || textOf(t, raw) != want {
						t.Errorf("answer %d is %s, %v", i, raw, err)
					}
				})
			}
			calls.Wait()
		})
	}
}

// TestRemoteBytes wants an answer as the server wrote it: no client library has its fields.
func TestRemoteBytes(t *testing.T) {
	const result = `{"content":[{"type":"text","text":"\u00e9","odd":1e3}],"isError":false,"big":12345678901234567890,"new":{"a":[]}}`
	for _, kind := range []string{"json", "stream"} {
		t.Run(kind, func(t *testing.T) {
			site := newSite(
				t, scripted(func(w http.ResponseWriter, id string) { answer(w, kind == "stream", id, result) }),
			)
			f := newPool(t, nil, site.at("/"))
			raw, err := f.Call(t.Context(), "far", "any", nil)
			if err != nil || string(raw) != result {
				t.Errorf("the answer is\n%s, want\n%s, %v", raw, result, err)
			}
		})
	}
}

// scripted is a server whose answer to tools/call is given.
func scripted(call func(w http.ResponseWriter, id string)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var msg struct {
			ID     json.RawMessage
			Method string
		}
		body, _ := io.ReadAll(r.Body)
		_ = json.Unmarshal(body, &msg)
		switch {
		case r.Method != http.MethodPost:
			w.WriteHeader(http.StatusMethodNotAllowed)
		case msg.Method == "initialize":
			answer(
				w,
				false,
				string(msg.ID),
				`{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}`,
			)
		case msg.Method == "tools/list":
			answer(w, false, string(msg.ID), `{"tools":[{"name":"any","inputSchema":{"type":"object"}},
				{"name":"reads","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}]}`)
		case msg.Method == "tools/call":
			call(w, string(msg.ID))
		case msg.ID == nil:
			w.WriteHeader(http.StatusAccepted)
		default:
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}`, msg.ID)
		}
	})
}

func answer(w http.ResponseWriter, stream bool, id, result string) {
	msg := `{"jsonrpc":"2.0","id":` + id + `,"result":` + result + `}`
	if !stream {
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		_, _ = io.WriteString(w, msg)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = io.WriteString(w, ": a comment\n\nevent: message\ndata: "+msg+"\n\n")
}

// TestRemoteWrong has servers answer a call wrongly: each call gets an error in plain words, and the next call works.
func TestRemoteWrong(t *testing.T) {
	for _, c := range []struct {
		name string
		do   func(w http.ResponseWriter, id string)
		want string
	}{
		{"page", func(w http.ResponseWriter, _ string) {
			w.Header().Set("Content-Type", "text/html")
			_, _ = io.WriteString(w, "<html><title>Sign &amp; in\n here</title>")
		}, `the server answers 200 with text/html instead of JSON ("Sign & in here")`},
		{"error page", func(w http.ResponseWriter, _ string) {
			w.Header().Set("Content-Type", "text/html")
			w.WriteHeader(http.StatusBadGateway)
			_, _ = io.WriteString(w, "<title>upstream</title>")
		}, `the server answers 502 Bad Gateway ("upstream")`},
		{"unauthorized", func(w http.ResponseWriter, _ string) { w.WriteHeader(http.StatusUnauthorized) }, "it answers 401 Unauthorized"},
		{"forbidden", func(w http.ResponseWriter, _ string) { http.Error(w, "not you", http.StatusForbidden) }, `403 Forbidden ("not you")`},
		{"too long", func(w http.ResponseWriter, id string) {
			answer(w, false, id, `{"content":[{"type":"text","text":"`+strings.Repeat("x", 200_000)+`"}]}`)
		}, "the server's message is longer than 100000 bytes"},
		{"too long a stream", func(w http.ResponseWriter, id string) {
			answer(w, true, id, `{"content":[{"type":"text","text":"`+strings.Repeat("x", 200_000)+`"}]}`)
		}, "the server's message is longer than 100000 bytes"},
		{"too deep", func(w http.ResponseWriter, id string) {
			answer(w, false, id, `{"content":`+strings.Repeat("[", 2000)+strings.Repeat("]", 2000)+`}`)
		}, "nested deeper than 1000 levels"},
		{"no JSON", func(w http.ResponseWriter, _ string) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"jsonrpc":`)
		}, "the server's answer is no message of MCP"},
		{"nothing", func(w http.ResponseWriter, _ string) { w.WriteHeader(http.StatusAccepted) }, "the server answers 202 without a message"},
		{"a stream without the answer", func(w http.ResponseWriter, _ string) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, ": nothing\n\n")
		}, "no answer came: the connection to the server broke off"},
		{"error", func(w http.ResponseWriter, id string) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32602,"message":"a is missing"}}`, id)
		}, "a is missing"},
		{"elsewhere", func(w http.ResponseWriter, _ string) {
			w.Header().Set("Location", "http://other.example/mcp")
			w.WriteHeader(http.StatusTemporaryRedirect)
		}, `the server sends its client to another host, "other.example"; nothing was sent there`},
		{"moved", func(w http.ResponseWriter, _ string) {
			w.Header().Set("Location", "/new")
			w.WriteHeader(http.StatusFound)
		}, "no answer came: the server says that it has moved to"},
		{"done, and elsewhere", func(w http.ResponseWriter, _ string) {
			w.Header().Set("Location", "http://other.example/done")
			w.WriteHeader(http.StatusSeeOther)
		}, `no answer came: the server sends its client to another host, "other.example"; nothing was sent there`},
		{"in a circle", func(w http.ResponseWriter, _ string) {
			w.Header().Set("Location", "/")
			w.WriteHeader(http.StatusTemporaryRedirect)
		}, "the server redirects its client on and on"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var calls atomic.Int64
			site := newSite(t, scripted(func(w http.ResponseWriter, id string) {
				if calls.Add(1) == 1 {
					c.do(w, id)
				} else {
					answer(w, false, id, `{"content":[]}`)
				}
			}))
			f := newPool(t, func(o *Options) { o.MaxMessage = 100_000 }, site.at("/"))
			raw, err := f.Call(t.Context(), "far", "any", nil)
			var call *CallError
			if !errors.As(err, &call) || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("the answer is %s, %v, want %q", raw, err, c.want)
			}
			unknown := []string{
				"page", "error page", "nothing", "a stream without the answer", "moved", "done, and elsewhere",
			}
			if slices.Contains(unknown, c.name) && !call.Crashed {
				t.Error("it is taken for certain that nothing was done")
			}
			if slices.Contains([]string{"elsewhere", "in a circle"}, c.name) && call.Crashed {
				t.Error("it is not taken for certain that nothing was done")
			}
			if _, err := f.Call(t.Context(), "far", "any", nil); err != nil {
				t.Errorf("the next call: %v", err)
			}
		})
	}
}

// TestRemoteStart has servers refuse to be one: the error says why, and what to do.
func TestRemoteStart(t *testing.T) {
	page := func(status int, text string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, text, status) })
	}
	for _, c := range []struct {
		name       string
		handler    http.Handler
		want, hint string
	}{
		{"token", fakemcp.Handler("-token", "t0ken"), "401 Unauthorized", "codemode auth login far"},
		{"not here", page(http.StatusNotFound, "404 page not found"), `404 Not Found ("404 page not found")`, "at /mcp or /sse"},
		{"broken", page(http.StatusInternalServerError, ""), "500 Internal Server Error", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			site := newSite(t, c.handler)
			f := newPool(t, nil, site.at("/mcp"))
			_, err := f.Tools(t.Context(), "far")
			var start *StartError
			if !errors.As(err, &start) || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("the error is %v, want %q", err, c.want)
			}
			if hints := strings.Join(hint.Of(err), "\n"); !strings.Contains(hints, c.hint) {
				t.Errorf("the hints are %q, want %q", hints, c.hint)
			}
		})
	}
}

// TestRemoteHeaders sends what the entry says, to the server alone, and shows it to nobody.
func TestRemoteHeaders(t *testing.T) {
	site := newSite(t, fakemcp.Handler("-token", "t0ken-of-nobody"))
	s := site.at("/mcp")
	s.Headers = map[string]string{"Authorization": "Bearer t0ken-of-nobody"}
	f := newPool(t, nil, s)
	if got := f.text("far", "echo", `{"message":"Bearer t0ken-of-nobody"}`); got != "Bearer t0ken-of-nobody" {
		t.Errorf("the answer is %q", got) // a result is the server's, and not masked here
	}
	if strings.Contains(f.log.String(), "t0ken") {
		t.Error("the log has the token")
	}
	for name, value := range map[string]string{"X-A": "a\r\nX-B: b", "X A": "a", "": "a"} {
		s.Headers = map[string]string{name: value}
		bad := newPool(t, nil, s)
		if _, err := bad.Tools(t.Context(), "far"); err == nil || !strings.Contains(err.Error(), "no header can have") {
			t.Errorf("header %q: %v", name, err)
		}
	}
}

// TestRemoteEvents keeps of an event what the standard knows, each within bounds: an event need never end.
func TestRemoteEvents(t *testing.T) {
	endless := strings.Repeat("x: "+strings.Repeat("y", 1000)+"\n", 5000) + strings.Repeat(": comment\n", 5000)
	for text, want := range map[string]string{
		"event: other\nid: 6\n" + endless + "id: 7\ndata: a\ndata: b\n\n":        "event: other\nid: 7\ndata: a\ndata: b\n\n",
		"event: other\nid: " + strings.Repeat("z", maxField+1) + "\ndata: a\n\n": "event: other\ndata: a\n\n",
		"event: other\ndata: a\n" + strings.Repeat("data:\n", 2000) + "\n":       "event: other\n\n",
	} {
		out, err := io.ReadAll(newEventBody(io.NopCloser(strings.NewReader(text)), nil, &remote{calls: &calls{rooms: newRooms(1000)}}, outgoing{}))
		if err != nil || strings.TrimRight(strings.ReplaceAll(string(out), "data: \n", ""), "\n") != strings.TrimRight(want, "\n") {
			t.Errorf("%d bytes: %.200q, %v, want %q", len(out), out, err, want)
		}
		if len(out) > 10_000 {
			t.Errorf("%d bytes are kept", len(out))
		}
	}
}

// TestRemoteWaits has a server ask for patience: it gets the same request again, and is told of where it asks for too
// much.
func TestRemoteWaits(t *testing.T) {
	var calls atomic.Int64
	site := newSite(t, scripted(func(w http.ResponseWriter, id string) {
		switch calls.Add(1) {
		case 1:
			w.Header().Set("Retry-After", "0")
			w.WriteHeader(http.StatusTooManyRequests)
		case 2:
			answer(w, true, id, `{"content":[{"type":"text","text":"at last"}]}`)
		default:
			w.Header().Set("Retry-After", "86400")
			w.WriteHeader(http.StatusTooManyRequests)
		}
	}))
	f := newPool(t, nil, site.at("/"))
	if got := f.text("far", "any", `{}`); got != "at last" {
		t.Errorf("the answer is %q", got)
	}
	_, err := f.Call(t.Context(), "far", "any", nil)
	if err == nil || !strings.Contains(err.Error(), "429 Too Many Requests") ||
		!strings.Contains(strings.Join(hint.Of(err), ""), "86400") {
		t.Errorf("the error is %v, %q", err, hint.Of(err))
	}
}

// TestRemoteCancel ends a call by its context, and the server learns of it.
func TestRemoteCancel(t *testing.T) {
	begun, gone := make(chan bool, 1), make(chan bool, 1)
	site := newSite(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		scripted(func(http.ResponseWriter, string) {
			begun <- true
			<-r.Context().Done()
			gone <- true
		}).ServeHTTP(w, r)
	}))
	f := newPool(t, nil, site.at("/"))
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("no more")
	go func() { <-begun; cancel(why) }()
	if _, err := f.Call(ctx, "far", "any", nil); !errors.Is(err, why) {
		t.Errorf("the error is %v", err)
	}
	<-gone
}

// TestRemoteProject refuses a project's entry whose host's name leads to this machine.
func TestRemoteProject(t *testing.T) {
	site := newSite(t, fakemcp.Handler())
	s := site.at("/mcp")
	s.Project = t.TempDir()
	f := newPool(t, nil, s)
	f.text("far", "echo", `{"message":"an address, which its user has seen"}`)
	for _, c := range []struct {
		server  config.Server
		guarded bool
	}{
		{config.Server{URL: "http://vm.example/mcp", Project: "/p"}, true},
		{config.Server{URL: "http://vm.example/mcp"}, false},
		{config.Server{URL: s.URL, Project: "/p"}, false},
	} {
		u, _ := url.Parse(c.server.URL)
		tr, err := newHTTPTransport(c.server, u, os.LookupEnv)
		if err != nil {
			t.Fatal(err)
		}
		_, err = tr.DialContext(t.Context(), "tcp", strings.TrimPrefix(s.URL[:strings.LastIndex(s.URL, "/")], "http://"))
		var inside *publicnet.Error
		if errors.As(err, &inside) != c.guarded {
			t.Errorf("%v: %v", c.server, err)
		}
	}
}

// TestRemoteCertificate refuses a server whose certificate nobody vouches for.
func TestRemoteCertificate(t *testing.T) {
	tls := httptest.NewTLSServer(fakemcp.Handler())
	t.Cleanup(tls.Close)
	f := newPool(t, nil, config.Server{Name: "far", URL: tls.URL + "/mcp"})
	_, err := f.Tools(t.Context(), "far")
	if err == nil || !strings.Contains(err.Error(), "the server's certificate is not one to trust") ||
		!strings.Contains(strings.Join(hint.Of(err), ""), "NODE_EXTRA_CA_CERTS") {
		t.Errorf("the error is %v, %q", err, hint.Of(err))
	}
}

// TestRemoteGone has a server end the stream of a call, and know nothing of it when it is resumed: what became of the
// call is not known.
func TestRemoteGone(t *testing.T) {
	var site *site
	site = newSite(t, scripted(func(w http.ResponseWriter, _ string) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "id: 1\nretry: 1\ndata:\n\n")
		site.serve(http.NotFoundHandler())
	}))
	f := newPool(t, nil, site.at("/"))
	_, err := f.Call(t.Context(), "far", "any", nil)
	var call *CallError
	if !errors.As(err, &call) || !call.Crashed || err.Error() != "no answer came: the connection to the server broke off" {
		t.Errorf("the error is %#v: %v", err, err)
	}
}

// TestRemoteResumed has nobody listen any more where a call's stream is resumed: that call was sent all the same.
func TestRemoteResumed(t *testing.T) {
	gone := httptest.NewServer(nil)
	gone.Close()
	f := &filter{remote: &remote{}, next: http.DefaultTransport}
	f.remote.reached = &atomic.Bool{}
	for _, method := range []string{http.MethodPost, http.MethodGet} {
		of := outgoing{slot: &slot{sent: true}}
		req, err := http.NewRequestWithContext(t.Context(), method, gone.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.send(req, of); err == nil || of.slot.sent != (method == http.MethodGet) {
			t.Errorf("%s: sent is %v, %v", method, of.slot.sent, err)
		}
	}
}

// TestRemoteStrange has a server answer the first request with JSON of another kind.
func TestRemoteStrange(t *testing.T) {
	site := newSite(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"hello": 1}`)
	}))
	f := newPool(t, nil, site.at("/"))
	if _, err := f.Tools(t.Context(), "far"); err == nil || !strings.Contains(err.Error(), noMessage) {
		t.Errorf("the error is %v", err)
	}
}

// TestRemoteSilentStream: a server that never says whether it has a stream of its own is used without, and what waits
// for it ends.
func TestRemoteSilentStream(t *testing.T) {
	for _, path := range []string{"/mcp", "/stateless"} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			var asked atomic.Bool
			fake := fakemcp.Handler()
			site := newSite(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				if r.Method == http.MethodGet || bytes.Contains(body, []byte(methodListen)) {
					asked.Store(true)
					<-r.Context().Done()
					return
				}
				r.Body = io.NopCloser(bytes.NewReader(body))
				fake.ServeHTTP(w, r)
			}))
			f := newPool(t, nil, site.at(path))
			if got := f.text("far", "echo", `{"message":"hi"}`); got != "hi" {
				t.Errorf("the answer is %q", got)
			}
			if !asked.Load() {
				t.Error("it was not asked for a stream")
			}
		})
	}
}
