package bridge

import (
	"context"
	"errors"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"codemode/internal/bridge/bridgetest"
)

// Nothing a guest sends stops or hangs the bridge: the run ends in an outcome that names what happened, and
// the next run works.
func TestHostileGuest(t *testing.T) {
	for _, c := range []struct {
		name   string
		send   func(g *bridgetest.Guest, run int)
		status Status
		says   string
	}{
		{"hangs up", func(*bridgetest.Guest, int) {}, StatusError, "ended before the code was done"},
		{
			"not JSON", func(g *bridgetest.Guest, _ int) { g.Send("hello"); g.Drain() }, StatusError,
			"broke codemode's channel",
		},
		{
			"not an object", func(g *bridgetest.Guest, _ int) { g.Send("[1,2]"); g.Drain() }, StatusError,
			"broke codemode's channel",
		},
		{"an answer nobody asked for", func(g *bridgetest.Guest, _ int) {
			g.Send(`{"jsonrpc":"2.0","id":99,"result":{}}`)
			g.Drain()
		}, StatusError, "request 99, which nobody made"},
		{"an unknown request", func(g *bridgetest.Guest, _ int) {
			g.Send(`{"jsonrpc":"2.0","id":1,"method":"host/exec","params":{}}`)
			g.Drain()
		}, StatusError, "unknown request"},
		{"an unknown notification, then the answer", func(g *bridgetest.Guest, run int) {
			g.Send(`{"jsonrpc":"2.0","method":"grease","params":{}}`)
			g.Send(`{"jsonrpc":"2.0","id":%d,"result":{"status":"ok"}}`, run)
			g.Drain()
		}, StatusSuccess, "success"},
		{"a line without end", func(g *bridgetest.Guest, _ int) {
			chunk := strings.Repeat("x", 1<<20)
			for range 80 {
				if _, err := g.Conn.Write([]byte(chunk)); err != nil {
					return
				}
			}
			g.Drain()
		}, StatusError, "broke codemode's channel"},
		{"deep nesting", func(g *bridgetest.Guest, _ int) {
			g.Send("%s", strings.Repeat(`{"a":[`, 200_000))
			g.Drain()
		}, StatusError, "broke codemode's channel"},
		{"output for another run", func(g *bridgetest.Guest, run int) {
			g.Send(`{"jsonrpc":"2.0","method":"output","params":{"run":77,"stream":"stdout","text":"stray"}}`)
			g.Send(`{"jsonrpc":"2.0","id":%d,"result":{"status":"ok"}}`, run)
			g.Drain()
		}, StatusSuccess, "success"},
		{"output of the wrong type", func(g *bridgetest.Guest, _ int) {
			g.Send(`{"jsonrpc":"2.0","method":"output","params":"x"}`)
			g.Drain()
		}, StatusError, "broke codemode's channel"},
		{"a call for a server that is not there", func(g *bridgetest.Guest, run int) {
			g.Send(`{"jsonrpc":"2.0","id":5,"method":"tools/call",` +
				`"params":{"server":"nope","tool":"x","arguments":{}}}`)
			answer := g.Next()
			g.Send(`{"jsonrpc":"2.0","id":%d,"result":{"status":"ok","value":{"repr":%q}}}`,
				run, answer["error"].(map[string]any)["message"])
			g.Drain()
		}, StatusSuccess, "Server 'nope' is not available"},
		{"an answer of the wrong shape", func(g *bridgetest.Guest, run int) {
			g.Send(`{"jsonrpc":"2.0","id":%d,"result":[]}`, run)
			g.Drain()
		}, StatusError, "broke codemode's channel and was stopped: reading its result"},
		{"an image that is none", func(g *bridgetest.Guest, run int) {
			g.Send(`{"jsonrpc":"2.0","method":"display","params":{"run":1,"mime":"image/png","data":"aGVsbG8="}}`)
			g.Send(`{"jsonrpc":"2.0","id":%d,"result":{"status":"ok"}}`, run)
			g.Drain()
		}, StatusSuccess, "no such image"},
	} {
		t.Run(c.name, func(t *testing.T) {
			first := true
			b, _ := scriptedBridge(t, func(g *bridgetest.Guest) {
				id, _, ok := g.Run()
				if !ok {
					return
				}
				if first {
					first = false
					c.send(g, id)
					return
				}
				g.Send(`{"jsonrpc":"2.0","id":%d,"result":{"status":"ok","value":{"repr":"fine"}}}`, id)
				g.Drain()
			})
			out := b.Run(t.Context(), Request{Code: "x", Timeout: patience})
			if out.Status != c.status || !strings.Contains(out.compact(), c.says) {
				t.Errorf("status %s: %s", out.Status, out.compact())
			}
			if c.status == StatusSuccess {
				return // the session lives on with a script that has nothing more to say
			}
			if out := b.Run(
				t.Context(), Request{Code: "x", Timeout: patience, Session: "another"},
			); out.Repr != "fine" {
				t.Errorf("the next run: %s", out.compact())
			}
		})
	}
}

// TestLostWithItsEngine: a guest's channel has ended, and its sandbox has to be killed. That is the code's doing,
// unless the sandbox lost what it is ended by, too.
func TestLostWithItsEngine(t *testing.T) {
	for want, lost := range map[string]error{
		"exit: 1\nerror: the code closed codemode's channel": nil,
		"exit: 125\nerror: conmon was killed":                errors.New("conmon was killed"),
	} {
		b, _ := scriptedBridge(t, func(g *bridgetest.Guest) {
			if _, _, ok := g.Run(); ok {
				g.Box.Lost = lost
				g.Conn.Close()
				<-g.Box.Done()
			}
		})
		out := b.Run(t.Context(), Request{Code: "x", Timeout: patience})
		if out.Status != StatusError || !out.Lost || !strings.Contains(out.compact(), want) {
			t.Errorf("want %q: %s", want, out.compact())
		}
	}
}

// TestDiesBeforeTheRunIsSent: how a guest died is told a moment after its channel has ended; nothing can be sent to it
// then.
func TestDiesBeforeTheRunIsSent(t *testing.T) {
	b, _ := scriptedBridge(t, func(g *bridgetest.Guest) {
		g.Next() // initialize
		g.Conn.Close()
		<-time.After(50 * time.Millisecond)
	})
	out := b.Run(t.Context(), Request{Code: "x", Timeout: patience})
	contains(t, out.compact(), "Python ended before the code was done")
}

// A guest that ignores the interrupt is killed after the grace period; one that reads nothing at all, too.
func TestGuestThatDoesNotStop(t *testing.T) {
	for name, script := range map[string]func(*bridgetest.Guest){
		"ignores the interrupt": func(g *bridgetest.Guest) {
			if _, _, ok := g.Run(); ok {
				g.Drain()
			}
		},
		"reads nothing": func(g *bridgetest.Guest) { <-g.Box.Done() },
		"floods": func(g *bridgetest.Guest) {
			g.Run()
			line := `{"jsonrpc":"2.0","method":"output","params":{"run":1,"stream":"stdout","text":"flood\n"}}` + "\n"
			for {
				if _, err := g.Conn.Write([]byte(line)); err != nil {
					return
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			b, _ := scriptedBridge(t, script)
			out := b.Run(t.Context(), Request{Code: strings.Repeat("#", 1<<20), Timeout: 200 * time.Millisecond})
			if out.Status != StatusTimeout || !out.Lost {
				t.Errorf("%s", out.compact())
			}
		})
	}
}

// TestRefusalIsBounded: what a guest says where it refuses a run goes into codemode's log.
func TestRefusalIsBounded(t *testing.T) {
	b, _ := scriptedBridge(t, func(g *bridgetest.Guest) {
		if run, _, ok := g.Run(); ok {
			g.Send(`{"jsonrpc":"2.0","id":%d,"error":{"code":1,"message":%q}}`, run, "no\n"+strings.Repeat("x", 1<<20))
		}
	})
	out := b.Run(t.Context(), Request{Code: "x"})
	if out.Err == nil || !strings.Contains(out.Err.Error(), "refused the run: no") || len(out.Err.Error()) > 2*maxNote {
		t.Errorf("%.100q, %d bytes", out.Err, len(out.compact()))
	}
}

func TestCancelledRunSaysSo(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	b, _ := scriptedBridge(t, func(g *bridgetest.Guest) {
		for {
			id, _, ok := g.Run()
			if !ok {
				return
			}
			cancel()
			if m := g.Next(); m["method"] != "interrupt" {
				return
			}
			g.Send(`{"jsonrpc":"2.0","id":%d,"result":{"status":"interrupted"}}`, id)
		}
	})
	b.opts.Config.Run.Grace = patience
	out := b.Run(ctx, Request{Code: "x", Timeout: patience})
	if out.Status != StatusCancelled || !strings.Contains(out.Error, "still there") {
		t.Errorf("%s", out.compact())
	}
	if out := b.Run(ctx, Request{Code: "x"}); out.Status != StatusCancelled {
		t.Errorf("a run whose caller has gone: %s", out.compact())
	}
}

// Closing the bridge in the middle of a run ends the run.
func TestCloseEndsARun(t *testing.T) {
	running := make(chan struct{})
	b, _ := scriptedBridge(t, func(g *bridgetest.Guest) {
		if _, _, ok := g.Run(); ok {
			close(running)
			g.Drain()
		}
	})
	ended := make(chan Outcome, 1)
	go func() { ended <- b.Run(context.Background(), Request{Code: "x", Timeout: time.Minute}) }()
	<-running
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if out := <-ended; out.Status != StatusCancelled {
		t.Errorf("%s", out.compact())
	}
	if out := b.Run(t.Context(), Request{Code: "x"}); out.Status == StatusSuccess || out.Err == nil {
		t.Errorf("a run after Close: %s", out.compact())
	}
}

func TestIdleSandboxEnds(t *testing.T) {
	b, rt := scriptedBridge(t, func(g *bridgetest.Guest) {
		for {
			id, _, ok := g.Run()
			if !ok {
				return
			}
			g.Send(`{"jsonrpc":"2.0","id":%d,"result":{"status":"ok"}}`, id)
		}
	})
	b.opts.Config.Sandbox.IdleTimeout = time.Millisecond
	b.Run(t.Context(), Request{Code: "x"})
	s, err := b.session("default")
	if err != nil {
		t.Fatal(err)
	}
	s.stopped.Wait() // the timer has fired and its work is done
	out := b.Run(t.Context(), Request{Code: "x"})
	if rt.Starts.Load() != 2 || len(out.Notes) != 1 || !strings.Contains(out.Notes[0], "idle") {
		t.Errorf("%d starts, notes %q", rt.Starts.Load(), out.Notes)
	}
}

// obedient is a guest whose runs all succeed at once.
func obedient(g *bridgetest.Guest) {
	for {
		id, _, ok := g.Run()
		if !ok {
			return
		}
		g.Send(`{"jsonrpc":"2.0","id":%d,"result":{"status":"ok"}}`, id)
	}
}

func TestTooManySessions(t *testing.T) {
	b, rt := scriptedBridge(t, obedient)
	for i := range maxSessions + 3 {
		if out := b.Run(t.Context(), Request{Code: "x", Session: string(rune('a' + i))}); out.Status != StatusSuccess {
			t.Fatalf("session %d: %s", i, out.compact())
		}
	}
	b.mu.Lock()
	n := len(b.sessions)
	b.mu.Unlock()
	if n != maxSessions || rt.Starts.Load() != maxSessions+3 {
		t.Errorf("%d sessions after %d starts", n, rt.Starts.Load())
	}
	again := b.Run(t.Context(), Request{Code: "x", Session: "a"})
	if again.Run != 2 || !strings.Contains(again.compact(), "gone because another session needed its place") {
		t.Errorf("its second run is run %d: %s", again.Run, again.compact())
	}
	b.mu.Lock()
	for i := range maxEnded + 1 {
		b.note(&session{name: strconv.Itoa(i), runs: 7})
	}
	b.mu.Unlock()
	if late := b.Run(t.Context(), Request{Code: "x", Session: "late"}); late.Run != 8 {
		t.Errorf("a run has the number %d, which another of its name may have had", late.Run)
	}
}

// A session that is pushed out has no run under way, and a run that waits for its turn there gets another session.
func TestPushedOut(t *testing.T) {
	b, _ := scriptedBridge(t, obedient)
	first, err := b.session("a")
	if err != nil {
		t.Fatal(err)
	}
	<-first.lock
	if first.retire() {
		t.Error("a session with a run under way was pushed out")
	}
	waiting := make(chan Outcome)
	go func() { waiting <- b.Run(t.Context(), Request{Code: "x", Session: "a"}) }()
	b.mu.Lock()
	delete(b.sessions, "a")
	b.mu.Unlock()
	first.lock <- struct{}{}
	for !first.retire() { // while the other looks
		runtime.Gosched()
	}
	if out := <-waiting; out.Status != StatusSuccess {
		t.Errorf("%s %v", out.Error, out.Err)
	}
}
