package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/tidwall/gjson"

	"codemode/internal/config"
)

// plainSite is a server of one tool, t, that says of it what description says, and answers calls by call.
func plainSite(t *testing.T, description func() string, call func(w http.ResponseWriter, id string)) *site {
	return newSite(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		id, answer := gjson.GetBytes(body, "id").Raw, `"error":{"code":-32601,"message":"no"}`
		switch gjson.GetBytes(body, "method").String() {
		case "initialize":
			answer = `"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"x","version":"1"}}`
		case "tools/list":
			answer = fmt.Sprintf(`"result":{"tools":[{"name":"t","description":%q,"inputSchema":{"type":"object"}}]}`, description())
		case "tools/call":
			call(w, id)
			return
		}
		if r.Method != http.MethodPost || id == "" {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,%s}`, id, answer)
	}))
}

// TestRedefined holds that a call is sent by the definition that it was judged by alone: not to a server that lists
// another one, and not once more to one that does by then.
func TestRedefined(t *testing.T) {
	for name, refuse := range map[string]func(w http.ResponseWriter, id string){
		"at first": nil,
		"changed":  nil,
		"429": func(w http.ResponseWriter, _ string) {
			w.Header().Set("Retry-After", "0.1")
			w.WriteHeader(http.StatusTooManyRequests)
		},
		"-32042": func(w http.ResponseWriter, id string) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32042,"message":"first","data":{"elicitations":[`+
				`{"mode":"url","message":"There:","url":"https://fake.example/","elicitationId":"8"}]}}}`, id)
		},
	} {
		var calls, version atomic.Int64
		var f *fixture
		far := plainSite(t, func() string { return fmt.Sprint("version ", version.Load()) },
			func(w http.ResponseWriter, id string) {
				if calls.Add(1) == 1 && refuse != nil {
					version.Add(1)
					f.Refresh("far") // as by a notice
					refuse(w, id)
					return
				}
				w.Header().Set("Content-Type", "application/json")
				fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"content":[]}}`, id)
			}).at("/")
		f = newPool(t, func(o *Options) {
			o.Answer = func(context.Context, string, About, mcp.InputRequest) (mcp.InputResponse, error) {
				f.servers["far"].state.live.calls.opened("8")
				return &mcp.ElicitResult{Action: "accept"}, nil
			}
		}, far)
		tools, err := f.Tools(t.Context(), "far")
		if err != nil || len(tools) != 1 {
			t.Fatal(tools, err)
		}
		judged := tools[0]
		if refuse == nil {
			if _, err := f.CallListed(t.Context(), "far", "t", judged, nil); err != nil {
				t.Errorf("by the definition that it lists: %v", err)
			}
		}
		switch name {
		case "at first":
			judged = json.RawMessage(strings.Replace(string(judged), "version 0", "version 1", 1))
		case "changed":
			version.Add(1)
			f.Refresh("far")
		}
		_, err = f.CallListed(t.Context(), "far", "t", judged, nil)
		if !errors.Is(err, ErrRedefined) || calls.Load() != 1 || strings.Contains(err.Error(), "connection") {
			t.Errorf("%s: %d calls were sent: %v", name, calls.Load(), err)
		}
	}
}

// TestRelisted holds that what was agreed to for some tools is not sent to a server that lists others by now.
func TestRelisted(t *testing.T) {
	var version atomic.Int64
	far := plainSite(t, func() string { return fmt.Sprint("version ", version.Load()) }, nil).at("/")
	f := newPool(t, nil, far)
	tools, err := f.Tools(t.Context(), "far")
	if err != nil {
		t.Fatal(err)
	}
	ctx := ForTools(t.Context(), tools)
	if _, err := f.Subscribe(ctx, "far", "x://y"); err == nil || errors.Is(err, ErrRelisted) {
		t.Errorf("with the same tools: %v", err)
	}
	version.Add(1)
	f.Refresh("far")
	if _, err := f.Subscribe(ctx, "far", "x://y"); !errors.Is(err, ErrRelisted) {
		t.Errorf("with others: %v", err)
	}
}

// TestMaskedBeforeCut holds that what a server by URL says is masked as a whole before its beginning is shown, and that
// nothing is shown of an answer in another shape.
func TestMaskedBeforeCut(t *testing.T) {
	const token = "tok_0123456789abcdefghijklmnopqrstuvwxyz"
	for _, kind := range []string{"text/plain", "text/html", "application/json", token + "-" + token + "; x=" + token} {
		for _, status := range []int{200, 400, 403, 500} {
			for before := 150; before < 200; before += 7 {
				words := strings.Repeat("x", before) + " " + token
				far := plainSite(t, func() string { return "" }, func(w http.ResponseWriter, _ string) {
					w.Header().Set("Content-Type", kind)
					w.WriteHeader(status)
					switch kind {
					case "text/html":
						words = "<title>" + words + "</title>"
					case "application/json":
						words = fmt.Sprintf(`{"message":%q}`, words)
					}
					_, _ = io.WriteString(w, words)
				}).at("/")
				far.Headers = map[string]string{"Authorization": "Bearer " + token}
				f := newPool(t, nil, far)
				if _, err := f.Call(t.Context(), "far", "t", nil); err == nil || strings.Contains(err.Error(), "tok_0123") {
					t.Errorf("%d with %s: %v", status, kind, err)
				}
				if strings.Contains(f.log.String(), "tok_0123") {
					t.Errorf("%d with %s is in the log", status, kind)
				}
				_ = f.Close()
			}
		}
	}
	script := `read -r line; echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":"'$TOKEN'"}}}'; cat`
	f := newPool(t, nil, config.Server{
		Name: "near", Command: "sh", Args: []string{"-c", script}, Env: map[string]string{"TOKEN": token},
	})
	_, err := f.Tools(t.Context(), "near")
	if err == nil || !strings.Contains(err.Error(), "is not what the protocol has there") || strings.Contains(f.log.String(), "tok_0") {
		t.Errorf("%v\n%s", err, f.log.String())
	}
}

// TestListedAnew holds that a server is asked for its tools again although it has said how long its list holds, and
// that a secret of its own is masked in its words before they are cut.
func TestListedAnew(t *testing.T) {
	const token = "t0ken-of-forty-characters-and-some-more-than-that"
	results := map[string]string{
		"server/discover": `"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"serverInfo":{"name":"x","version":"1"}`,
		"tools/list":      `"tools":[{"name":"t","inputSchema":{"type":"object"}}],"ttlMs":100000,"cacheScope":"private"`,
	}
	far := newSite(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		id, method := gjson.GetBytes(body, "id").Raw, gjson.GetBytes(body, "method").String()
		w.Header().Set("Content-Type", "application/json")
		switch result := results[method]; {
		case id == "":
			w.WriteHeader(http.StatusAccepted)
		case method == "tools/call":
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"resultType":"a%s","content":[]}}`, id, token)
		case result == "":
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}`, id)
		default:
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete",%s}}`, id, result)
		}
	})).at("/")
	far.Headers = map[string]string{"Authorization": token}
	f := newPool(t, nil, far)
	for range 2 {
		if tools, err := f.Tools(t.Context(), "far"); err != nil || len(tools) != 1 {
			t.Errorf("%s, %v", tools, err)
		}
		f.Refresh("far")
	}
	_, err := f.Call(t.Context(), "far", "t", nil)
	if err == nil || strings.Contains(err.Error(), "t0ken") || !strings.Contains(err.Error(), "unknown type") {
		t.Error(err)
	}
}
