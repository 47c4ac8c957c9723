package bridgetest

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

	"codemode/internal/sandbox"
)

// Scripted is a runtime whose guests are Go functions on the other end of a pipe: for what a real
// Python cannot be made to do on demand.
type Scripted struct {
	T      *testing.T
	Script func(g *Guest)
	Weaker sandbox.Enforcement // than full isolation, when set
	Input  io.Reader           // that guests ask for
	Starts atomic.Int64

	// Used, when set, is what a guest has used of the processors.
	Used func() time.Duration

	Shared, Released atomic.Int64 // how often a guest's processor was

	// Share, when set, is what happens then.
	Share func(others ...int) (release func(), err error)
}

func (r *Scripted) Name() string { return "scripted" }

func (r *Scripted) Probe(context.Context) (sandbox.Report, error) { return sandbox.Report{}, nil }

func (r *Scripted) Close() error { return nil }

func (r *Scripted) Start(context.Context, sandbox.Spec) (sandbox.Sandbox, error) {
	r.Starts.Add(1)
	ours, theirs := net.Pipe()
	box := &scriptedBox{runtime: r, enforced: r.Weaker, channel: ours, done: make(chan struct{})}
	g := &Guest{Conn: theirs, Lines: bufio.NewReaderSize(theirs, 1<<20), Box: box}
	go func() {
		r.Script(g)
		box.finish(sandbox.ExitSelf)
		theirs.Close()
	}()
	return box, nil
}

type scriptedBox struct {
	runtime  *Scripted
	enforced sandbox.Enforcement
	channel  net.Conn
	once     sync.Once
	done     chan struct{}
	exit     sandbox.Exit
	Lost     error // set before its channel ends: nobody in it can tell how it ended
}

func (b *scriptedBox) Channel() io.ReadWriteCloser { return b.channel }
func (b *scriptedBox) BootArg() string             { return "" }
func (b *scriptedBox) Layers() string              { return "" }
func (b *scriptedBox) SitePackages() []string      { return nil }
func (b *scriptedBox) OutFiles(context.Context, map[string]string, func(sandbox.OutFile) error) error {
	return nil
}
func (b *scriptedBox) Input() io.Reader      { return b.runtime.Input }
func (b *scriptedBox) Done() <-chan struct{} { return b.done }
func (b *scriptedBox) Exit() sandbox.Exit    { return b.exit }
func (b *scriptedBox) CPU() (used time.Duration, seen bool) {
	if b.runtime.Used == nil {
		return 0, false
	}
	return b.runtime.Used(), true
}

func (b *scriptedBox) Enforced() sandbox.Enforcement {
	e := b.enforced
	e.Runtime, e.Isolation = "scripted", cmp.Or(e.Isolation, sandbox.IsolationFull)
	return e
}

func (b *scriptedBox) ShareProcessor(others ...int) (release func(), err error) {
	b.runtime.Shared.Add(1)
	end := func() {}
	if b.runtime.Share != nil {
		if end, err = b.runtime.Share(others...); err != nil {
			return nil, err
		}
	}
	return func() {
		end()
		b.runtime.Released.Add(1)
	}, nil
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
			b.exit.Err = b.Lost
		}
		close(b.done)
	})
}

type Guest struct {
	Conn  net.Conn
	Lines *bufio.Reader
	Box   *scriptedBox
}

// Next returns the next message of the host's, or nil at the end.
func (g *Guest) Next() map[string]any {
	line, err := g.Lines.ReadBytes('\n')
	if err != nil {
		return nil
	}
	var m map[string]any
	if err := json.Unmarshal(line, &m); err != nil {
		panic(err) // the host's own encoding
	}
	return m
}

// Run answers initialize and returns the id and parameters of the run that follows.
func (g *Guest) Run() (id int, params map[string]any, ok bool) {
	for {
		m := g.Next()
		if m == nil {
			return 0, nil, false
		}
		switch m["method"] {
		case "initialize":
			g.Send(`{"jsonrpc":"2.0","id":%v,"result":{"version":1,"python":"3.14.6"}}`, m["id"])
		case "run":
			return int(m["id"].(float64)), m["params"].(map[string]any), true
		}
	}
}

func (g *Guest) Send(format string, args ...any) { fmt.Fprintf(g.Conn, format+"\n", args...) }

// Drain reads what the host sends until it hangs up.
func (g *Guest) Drain() { io.Copy(io.Discard, g.Lines) }
