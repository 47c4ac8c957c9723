package bridge

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"codemode/internal/config"
	"codemode/internal/sandbox"
)

// scripted is a runtime whose guests are Go functions on the other end of a pipe: for what a real
// Python cannot be made to do on demand.
type scripted struct {
	t      *testing.T
	script func(g *scriptedGuest)
	weaker sandbox.Enforcement // than full isolation, when set
	starts atomic.Int64
}

func (r *scripted) Name() string { return "scripted" }

func (r *scripted) Probe(context.Context) (sandbox.Report, error) { return sandbox.Report{}, nil }

func (r *scripted) Close() error { return nil }

func (r *scripted) Start(context.Context, sandbox.Spec) (sandbox.Sandbox, error) {
	r.starts.Add(1)
	ours, theirs := net.Pipe()
	box := &scriptedBox{enforced: r.weaker, channel: ours, done: make(chan struct{})}
	g := &scriptedGuest{conn: theirs, lines: bufio.NewReaderSize(theirs, 1<<20), box: box}
	go func() {
		r.script(g)
		box.finish(sandbox.ExitSelf)
		theirs.Close()
	}()
	return box, nil
}

type scriptedBox struct {
	enforced sandbox.Enforcement
	channel  net.Conn
	once     sync.Once
	done     chan struct{}
	exit     sandbox.Exit
	lost     error // set before its channel ends: nobody in it can tell how it ended
}

func (b *scriptedBox) Channel() io.ReadWriteCloser { return b.channel }
func (b *scriptedBox) BootArg() string             { return "" }
func (b *scriptedBox) SitePackages() []string      { return nil }
func (b *scriptedBox) Left(context.Context, map[string]string, func(sandbox.LeftFile) error) error {
	return nil
}
func (b *scriptedBox) Input() io.Reader           { return nil }
func (b *scriptedBox) Done() <-chan struct{}      { return b.done }
func (b *scriptedBox) Exit() sandbox.Exit         { return b.exit }
func (b *scriptedBox) CPU() (time.Duration, bool) { return 0, false }
func (b *scriptedBox) Enforced() sandbox.Enforcement {
	e := b.enforced
	e.Runtime, e.Isolation = "scripted", cmp.Or(e.Isolation, sandbox.IsolationFull)
	return e
}

func (b *scriptedBox) Kill() {
	b.channel.Close()
	b.finish(sandbox.ExitKilled)
}

func (b *scriptedBox) Close() error {
	b.Kill()
	return nil
}

func (b *scriptedBox) finish(cause sandbox.ExitCause) {
	b.once.Do(func() {
		b.exit.Cause = cause
		if cause == sandbox.ExitKilled {
			b.exit.Err = b.lost
		}
		close(b.done)
	})
}

type scriptedGuest struct {
	conn  net.Conn
	lines *bufio.Reader
	box   *scriptedBox
}

// next returns the next message of the host's, or nil at the end.
func (g *scriptedGuest) next() map[string]any {
	line, err := g.lines.ReadBytes('\n')
	if err != nil {
		return nil
	}
	var m map[string]any
	if err := json.Unmarshal(line, &m); err != nil {
		panic(err) // the host's own encoding
	}
	return m
}

// run answers initialize and returns the id and parameters of the run that follows.
func (g *scriptedGuest) run() (id int, params map[string]any, ok bool) {
	for {
		m := g.next()
		if m == nil {
			return 0, nil, false
		}
		switch m["method"] {
		case "initialize":
			g.send(`{"jsonrpc":"2.0","id":%v,"result":{"version":1,"python":"3.14.6"}}`, m["id"])
		case "run":
			return int(m["id"].(float64)), m["params"].(map[string]any), true
		}
	}
}

func (g *scriptedGuest) send(format string, args ...any) { fmt.Fprintf(g.conn, format+"\n", args...) }

// drain reads what the host sends until it hangs up.
func (g *scriptedGuest) drain() { io.Copy(io.Discard, g.lines) }

func testConfig() config.Config {
	return config.Config{
		Sandbox: config.Sandbox{
			Memory: 512 << 20, Pids: 128, TmpSize: 64 << 20, WorkSize: 128 << 20, Isolation: "full",
			IdleTimeout: time.Minute,
		},
		Run:          config.Run{Timeout: patience, MaxTimeout: 5 * time.Minute, Grace: 300 * time.Millisecond},
		Output:       config.Output{Mode: "compact", Limit: 32 << 10, Keep: 64 << 20},
		Policy:       config.Policy{ConfirmTimeout: patience},
		Servers:      config.Servers{StartTimeout: patience, CallTimeout: patience},
		Instructions: config.Instructions{Servers: true},
	}
}

func scriptedBridge(t *testing.T, script func(*scriptedGuest)) (*Bridge, *scripted) {
	rt := &scripted{t: t, script: script}
	b := New(
		Options{
			Config: testConfig(), Runtime: rt, StateDir: t.TempDir(),
			Lookup: func(string) (string, bool) { return "", false },
		},
	)
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Errorf("closing the bridge: %v", err)
		}
	})
	return b, rt
}
