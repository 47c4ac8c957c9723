package bridge

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"codemode/internal/bridge/bridgetest"
	"codemode/internal/require"
)

// However much a guest has to say, the result stays of a size that a client and a model can take. The user's code
// shares its process with the guest's own, so all of this can come from a run.
func TestHostileGuestIsBounded(t *testing.T) {
	large := strings.Repeat("x", 8<<20)
	for name, send := range map[string]func(g *bridgetest.Guest, run int){
		"repr": func(g *bridgetest.Guest, run int) {
			g.Send(`{"jsonrpc":"2.0","id":%d,"result":{"status":"ok","value":{"repr":%q}}}`, run, large)
		},
		"value": func(g *bridgetest.Guest, run int) {
			g.Send(`{"jsonrpc":"2.0","id":%d,"result":{"status":"ok","value":{"repr":"x","json":[%q]}}}`, run, large)
		},
		"traceback": func(g *bridgetest.Guest, run int) {
			g.Send(`{"jsonrpc":"2.0","id":%d,"result":{"status":"error","error":{"traceback":%q}}}`, run, large)
		},
		"exit": func(g *bridgetest.Guest, run int) {
			g.Send(`{"jsonrpc":"2.0","id":%d,"result":{"status":"exit","exit":{"code":1,"message":%q}}}`, run, large)
		},
		"refusal": func(g *bridgetest.Guest, run int) {
			g.Send(`{"jsonrpc":"2.0","id":%d,"error":{"code":1,"message":%q}}`, run, large)
		},
		"one note": func(g *bridgetest.Guest, run int) {
			g.Send(`{"jsonrpc":"2.0","id":%d,"result":{"status":"ok","notes":[%q]}}`, run, large)
		},
		"notes": func(g *bridgetest.Guest, run int) {
			g.Send(`{"jsonrpc":"2.0","id":%d,"result":{"status":"ok","notes":[%s"y"]}}`, run, strings.Repeat(`"x",`, 1<<20))
		},
		"displays": func(g *bridgetest.Guest, run int) {
			for range 20_000 {
				g.Send(`{"jsonrpc":"2.0","method":"display","params":{"run":1,"mime":"image/png","data":"aGVsbG8="}}`)
			}
			g.Send(`{"jsonrpc":"2.0","id":%d,"result":{"status":"ok"}}`, run)
		},
		"images": func(g *bridgetest.Guest, run int) {
			for range 20_000 {
				g.Send(`{"jsonrpc":"2.0","method":"display","params":{"run":1,"mime":"image/png","data":"iVBORw0KGgo="}}`)
			}
			g.Send(`{"jsonrpc":"2.0","id":%d,"result":{"status":"ok"}}`, run)
		},
		"tools": func(g *bridgetest.Guest, run int) {
			go g.Drain()
			for i := range 5_000 {
				g.Send(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"server":"fake","tool":"tool %d %s","arguments":{}}}`, i+1, i, strings.Repeat("x", 100))
			}
			g.Send(`{"jsonrpc":"2.0","id":%d,"result":{"status":"ok"}}`, run)
		},
	} {
		t.Run(name, func(t *testing.T) {
			rt := &bridgetest.Scripted{T: t, Script: func(g *bridgetest.Guest) {
				if id, _, ok := g.Run(); ok {
					send(g, id)
					g.Drain()
				}
			}}
			k := newKitOn(t, rt, nil, fake("fake"))
			out := k.Run(t.Context(), Request{Code: "x", Timeout: patience})
			text, payload := out.Reply("compact")
			if size := len(text) + len(mustJSON(payload)); size > 300<<10 {
				t.Errorf("the result has %d bytes", size)
			}
		})
	}
}

// A guest that asks and reads nothing costs the host a bounded amount of memory, whatever the answers are.
func TestGuestThatDoesNotRead(t *testing.T) {
	if raced {
		t.Skip("it measures memory, and the race detector's own would count; it runs without -race")
	}
	few, many := "200", "200"
	if require.Named("soak") {
		many = "2000"
	}
	for name, c := range map[string]struct {
		tools    string // that the server has
		requests int
		request  string // with %d for its id
		full     func(b *backlog) bool
	}{
		"calls": {
			few, 1_000, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"server":"fake","tool":"large"}}`,
			func(b *backlog) bool { return b.held > hardBacklog-6<<20 },
		},
		"server": {
			many, 380, `{"jsonrpc":"2.0","id":%d,"method":"server","params":{"server":"fake"}}`,
			func(b *backlog) bool { return len(b.describing) == maxDescribing },
		},
		"search": {
			many, 380, `{"jsonrpc":"2.0","id":%d,"method":"search","params":{"query":"tool","limit":20}}`,
			func(b *backlog) bool { return len(b.describing) == maxDescribing },
		},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "calls" {
				require.OptIn(t, "soak") // it takes 192 MiB of answers
			}
			sent := make(chan struct{})
			rt := &bridgetest.Scripted{T: t, Script: func(g *bridgetest.Guest) {
				if _, _, ok := g.Run(); !ok {
					return
				}
				for i := range c.requests {
					g.Send(c.request, i+1)
				}
				close(sent)
				<-g.Box.Done()
			}}
			k := newKitOn(
				t, rt, func(o *Options) { o.Config.Run.MaxTimeout = time.Hour }, fake("fake", "-tools", c.tools),
			)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			ended := make(chan Outcome, 1)
			go func() { ended <- k.Run(ctx, Request{Code: "x", Timeout: time.Hour}) }()
			<-sent
			s, err := k.session(defaultSession)
			if err != nil {
				t.Fatal(err)
			}
			s.mu.Lock()
			b, w := s.live.backlog, s.live.workers
			s.mu.Unlock()
			k.eventually("the backlog is full", func() bool {
				b.mu.Lock()
				defer b.mu.Unlock()
				return w.full() && c.full(b)
			})
			if g := s.live.gate; name != "calls" && g.tryEnter(8<<20) {
				t.Error("what codemode answers itself has no room kept for its answers")
			}
			k.eventually("the heap has at most 512 MiB", func() bool {
				runtime.GC() // what is held counts, not what a busy machine has yet to collect
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				t.Logf("heap: %d MiB in use, %d MiB of the system", m.HeapAlloc>>20, m.HeapSys>>20)
				return m.HeapAlloc <= 512<<20
			})
			cancel()
			if out := <-ended; out.Status != StatusCancelled {
				t.Errorf("%s", out.compact())
			}
		})
	}
}

// What cannot be meant is refused before anything is done with it.
func TestOverlongRequests(t *testing.T) {
	for name, params := range map[string]string{
		"tools/call: the server's name has": `{"server":%q,"tool":"x","arguments":{}}`,
		"tools/call: the tool's name has":   `{"server":"fake","tool":%q,"arguments":{}}`,
		"server: the server's name has":     `{"server":%q}`,
		"search: the query has":             `{"query":%q,"limit":5}`,
	} {
		t.Run(name, func(t *testing.T) {
			method, _, _ := strings.Cut(name, ":")
			b, _ := scriptedBridge(t, func(g *bridgetest.Guest) {
				id, _, ok := g.Run()
				if !ok {
					return
				}
				g.Send(`{"jsonrpc":"2.0","id":7,"method":%q,"params":`+params+`}`, method, strings.Repeat("x", 8<<20))
				refused := g.Next()["error"].(map[string]any)
				g.Send(
					`{"jsonrpc":"2.0","id":%d,"result":{"status":"ok","value":{"repr":%q}}}`,
					id,
					fmt.Sprint(refused["code"], " ", refused["message"]),
				)
				g.Drain()
			})
			out := b.Run(t.Context(), Request{Code: "x", Timeout: patience})
			if !strings.HasPrefix(out.Repr, "-32602 "+name) {
				t.Errorf("%s", out.compact())
			}
		})
	}
}

// The largest message is let through, alone.
func TestLargestMessagePassesTheGate(t *testing.T) {
	g := newGate()
	if !g.tryEnter(maxMessage) || g.tryEnter(maxMessage) || !g.tryEnter(1<<10) {
		t.Error("one message of the largest size must pass, a second must wait, and a small one need not")
	}
	g.leave(maxMessage)
	if !g.tryEnter(maxMessage) {
		t.Error("after the first has left, the second must pass")
	}
}

// Clients that parse by recursion choke on a value nested deeply; they get its repr.
func TestDeepValue(t *testing.T) {
	nested := func(n int) string { return strings.Repeat("[", n) + `"]}\"[{"` + strings.Repeat("]", n) }
	for depth, kept := range map[int]bool{maxDepth: true, maxDepth + 1: false, 5_000: false} {
		b, _ := scriptedBridge(t, func(g *bridgetest.Guest) {
			if id, _, ok := g.Run(); ok {
				g.Send(
					`{"jsonrpc":"2.0","id":%d,"result":{"status":"ok","value":{"repr":"its repr","json":%s}}}`,
					id,
					nested(depth),
				)
				g.Drain()
			}
		})
		got := string(b.Run(t.Context(), Request{Code: "x", Timeout: patience}).payload().Result)
		want := `"its repr"`
		if kept {
			want = nested(depth)
		}
		if got != want {
			t.Errorf("depth %d: %.60s, want %.60s", depth, got, want)
		}
	}
}
