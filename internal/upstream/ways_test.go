package upstream

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"codemode/internal/config"
	"codemode/internal/fakemcp"
)

// TestExtraCertificates reaches a server whose certificate only NODE_EXTRA_CA_CERTS vouches for, and tells of a file
// that is not there.
func TestExtraCertificates(t *testing.T) {
	far := httptest.NewTLSServer(fakemcp.Handler())
	t.Cleanup(far.Close)
	file := filepath.Join(t.TempDir(), "ca.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: far.Certificate().Raw})
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	server := config.Server{Name: "far", URL: far.URL + "/mcp"}
	with := func(file string) func(*Options) {
		return func(o *Options) {
			o.Lookup = func(name string) (string, bool) { return file, name == "NODE_EXTRA_CA_CERTS" }
		}
	}
	if got := newPool(t, with(file), server).text("far", "echo", `{"message":"safe"}`); got != "safe" {
		t.Errorf("the answer is %q", got)
	}
	_, err := newPool(t, with(file+"x"), server).Tools(t.Context(), "far")
	if err == nil || !strings.Contains(err.Error(), "reading NODE_EXTRA_CA_CERTS, ") {
		t.Errorf("the error is %v", err)
	}
}

// TestConnectionIsReused makes calls one after the other over the connections that there are.
func TestConnectionIsReused(t *testing.T) {
	var made atomic.Int64
	far := httptest.NewUnstartedServer(fakemcp.Handler())
	far.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			made.Add(1)
		}
	}
	far.Start()
	t.Cleanup(far.Close)
	f := newPool(t, nil, config.Server{Name: "far", URL: far.URL + "/mcp"})
	f.text("far", "echo", `{"message":"x"}`)
	before := made.Load()
	for range 50 {
		f.text("far", "echo", `{"message":"x"}`)
	}
	if n := made.Load() - before; n > 5 { // some may have been in use still
		t.Errorf("50 calls made %d connections", n)
	}
}

// TestStreamIsResumed has the stream of an answer break off: the rest is asked for by the last event that came, and the
// call is not made again.
func TestStreamIsResumed(t *testing.T) {
	var calls, resumed atomic.Int64
	var id atomic.Value
	inner := scripted(func(w http.ResponseWriter, call string) {
		calls.Add(1)
		id.Store(call)
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "id: 7\nretry: 1\ndata:\n\n")
	})
	f := newPool(t, nil, newSite(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet || r.Header.Get("Last-Event-ID") != "7" {
			inner.ServeHTTP(w, r)
			return
		}
		resumed.Add(1)
		answer(w, true, id.Load().(string), `{"content":[{"type":"text","text":"the rest"}]}`)
	})).at("/"))
	raw, err := f.Call(t.Context(), "far", "any", nil)
	if err != nil || !strings.Contains(string(raw), "the rest") || calls.Load() != 1 || resumed.Load() != 1 {
		t.Errorf("%s, %v, after %d calls, resumed %d times", raw, err, calls.Load(), resumed.Load())
	}
}

// TestArgumentsAsHeaders sends an argument as the header that its tool's schema wants, by revision 2026-07-28, and
// leaves out a tool whose header cannot be one.
func TestArgumentsAsHeaders(t *testing.T) {
	s := mcp.NewServer(&mcp.Implementation{Name: "far", Version: "1"}, nil)
	for name, header := range map[string]string{"good": "Region", "bad": "Other"} {
		schema := fmt.Sprintf(`{"type":"object","properties":{"region":{"type":"string","x-mcp-header":%q}}}`, header)
		s.AddTool(&mcp.Tool{Name: name, InputSchema: json.RawMessage(schema)},
			func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return &mcp.CallToolResult{}, nil
			})
	}
	inner := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s },
		&mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true})
	var mu sync.Mutex
	var sent []string
	f := newPool(t, nil, newSite(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		if value := r.Header.Get("Mcp-Param-Region"); value != "" {
			sent = append(sent, value)
		}
		mu.Unlock()
		if r.Header.Get("Mcp-Method") != "tools/list" {
			inner.ServeHTTP(w, r)
			return
		}
		list := httptest.NewRecorder()
		inner.ServeHTTP(list, r)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, strings.ReplaceAll(list.Body.String(), "Other", "no header"))
	})).at("/"))
	tools, err := f.Tools(t.Context(), "far")
	if err != nil || len(tools) != 1 || !strings.Contains(string(tools[0]), `"good"`) {
		t.Errorf("%s, %v", tools, err)
	}
	if _, err := f.Call(t.Context(), "far", "good", json.RawMessage(`{"region":"eu west"}`)); err != nil {
		t.Error(err)
	}
	mu.Lock()
	defer mu.Unlock()
	if fmt.Sprint(sent) != "[eu west]" {
		t.Errorf("the headers are %q", sent)
	}
}
