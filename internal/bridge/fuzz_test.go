package bridge

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"codemode/internal/bridge/bridgetest"
	"codemode/internal/config"
	"codemode/internal/servers"
)

// FuzzChannel is a guest that sends anything, before a run, during it and instead of its answer. The run has an outcome
// soon and of bounded size, and the next one works.
func FuzzChannel(f *testing.F) {
	for _, lines := range []string{
		`{"jsonrpc":"2.0","id":RUN,"result":{"status":"ok","value":{"repr":"2","json":2}}}`,
		`{"jsonrpc":"2.0","id":RUN,"result":{"status":"error","exitCode":1,"error":{"text":"x"}}}` + "\n" + `{"jsonrpc":"2.0","id":RUN,"result":{}}`,
		`{"jsonrpc":"2.0","method":"output","params":{"run":1,"stream":"stdout","text":"a\u00e9\n"}}` + "\n{}",
		`{"jsonrpc":"2.0","method":"output","params":{"run":1,"stream":"stderr","base64":"//8="}}`,
		`{"jsonrpc":"2.0","method":"display","params":{"run":1,"mime":"image/svg+xml","data":"PHN2Zy8+"}}` + "\n" + `{"jsonrpc":"2.0","method":"cancel","params":{"id":7}}`,
		`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"server":"gone","tool":"t","arguments":{"a":1}}}` + "\n" + `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{}}`,
		`{"jsonrpc":"2.0","id":7,"method":"request","params":{"server":"gone","method":"completion/complete","params":{"ref":null,"argument":{}}}}`,
		`{"jsonrpc":"2.0","id":8,"method":"search","params":{"query":"x","limit":-1}}`,
		`{"jsonrpc":"2.0","id":9,"method":"tools/save","params":{"source":"def f(): pass"}}`,
		`{"jsonrpc":"2.0","id":9,"method":"stdin","params":{"size":1e9}}`,
		`{"jsonrpc":"2.0","id":1,"method":"server","params":{"server":"gone"}}`,
		`{"jsonrpc":"2.0","id":99,"result":{}}`, `[[[[`, "\x00\xff", `{"jsonrpc":"2.0","id":RUN,"error":{"code":1,"message":"no"}}`,
	} {
		f.Add([]byte(lines), true)
	}
	f.Fuzz(func(t *testing.T, data []byte, answers bool) {
		c := testConfig()
		c.Run.Grace = 2 * time.Millisecond
		c.Tools.Save = true
		rt := &bridgetest.Scripted{T: t, Script: func(g *bridgetest.Guest) {
			id, params, ok := g.Run()
			if !ok {
				return
			}
			go g.Drain()
			if params["code"] != "next" {
				_, _ = g.Conn.Write(append(bytes.ReplaceAll(data, []byte("RUN"), fmt.Append(nil, id)), '\n'))
			}
			if answers || params["code"] == "next" {
				g.Send(`{"jsonrpc":"2.0","id":%d,"result":{"status":"ok","value":{"repr":"2"}}}`, id)
			}
			<-g.Box.Done()
		}}
		b := New(Options{
			Config: c, Runtime: rt, StateDir: t.TempDir(), ToolsDir: t.TempDir(),
			Lookup:  func(string) (string, bool) { return "", false },
			Servers: servers.Always(config.Server{Name: "gone", Command: "/nonexistent"}),
		})
		defer b.Close()
		out := b.Run(t.Context(), Request{Session: "s", Code: "1", Timeout: 10 * time.Millisecond})
		switch out.Status {
		case StatusSuccess, StatusError, StatusTimeout, StatusValidationError:
		default:
			t.Errorf("the run ended as %q", out.Status)
		}
		if text := out.compact(); len(text) > 4*len(data)+64<<10 || strings.ContainsAny(text, "\x00\x1b") {
			t.Errorf("a result of %d bytes for %d: %.200q", len(text), len(data), text)
		}
		if next := b.Run(t.Context(), Request{Session: "other", Code: "next", Timeout: patience}); next.Repr != "2" {
			t.Errorf("the next run: %+v", next)
		}
	})
}
