package bridge

import (
	"context"
	"encoding/json"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"codemode/internal/bridge/bridgetest"
	"codemode/internal/guest"
	"codemode/internal/sandbox"
)

// TestPace holds that a guest has no more done than its part of the processors, after half a second.
func TestPace(t *testing.T) {
	note := guest.Message{Method: "none"}
	long := guest.Message{Method: "none", Params: make([]byte, 100_000)}
	request := func(method string) guest.Message { return guest.Message{HasID: true, Method: method} }
	for name, c := range map[string]struct {
		message  guest.Message
		sessions int
		count    int
		cost     time.Duration // of all of them
	}{
		"notes alone":       {note, 1, 50_000, time.Second},
		"notes among seven": {note, 7, 50_000, 14 * time.Second},
		"long notes":        {long, 1, 1_000, 1020 * time.Millisecond},
		"calls alone":       {request(guest.MethodToolCall), 1, 10_000, 2200 * time.Millisecond},
		"input alone":       {request(guest.MethodStdin), 1, 10_000, 2200 * time.Millisecond},
		"searches alone":    {request(guest.MethodSearch), 1, 1_000, 1020 * time.Millisecond},
		"packages of two":   {request(guest.MethodPackages), 2, 100, 4008 * time.Millisecond},
		"a few":             {request(guest.MethodToolCall), 1, 500, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			var p pace
			began := time.Now()
			for range c.count {
				if err := p.keep(t.Context(), c.message, c.sessions); err != nil {
					t.Fatal(err)
				}
			}
			took := time.Since(began)
			want := c.cost*2/time.Duration(runtime.GOMAXPROCS(0)) - paceAhead
			if took < want || took > max(0, want)+50*time.Millisecond*time.Duration(c.sessions) {
				t.Errorf("%s: it took %v, want %v", name, took, want)
			}
		})
	}
}

// TestMaskingIsPaced holds that looking for secrets counts as long as it takes, but no longer than it can.
func TestMaskingIsPaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(Options{Config: testConfig()})
		defer b.Close()
		l := &live{bridge: b, session: "one", ctx: t.Context()}
		const bytes = 1 << 20
		most := costOfMasking * costOfByte * bytes
		for _, took := range []time.Duration{most / 2, 10 * most} {
			done := l.mask(bytes)
			<-time.After(took)
			done()
			began := time.Now()
			if err := l.pace.Wait(t.Context(), 0); err != nil {
				t.Fatal(err)
			}
			counted, want := time.Since(began), min(took, most)*2/time.Duration(runtime.GOMAXPROCS(0))
			if counted < want || counted > want+most/10 {
				t.Errorf("of %v, %v is still to be waited for, want %v", took, counted, want)
			}
		}
	})
}

// TestOwnAnswersArePaced holds that the time counts that codemode takes for an answer of its own, and that the next one
// waits for what was too much.
func TestOwnAnswersArePaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(Options{Config: testConfig()})
		defer b.Close()
		l := &live{bridge: b, session: "one", ctx: t.Context(), backlog: newBacklog(&b.slowReaders)}
		answer := func(took time.Duration) (waited time.Duration) {
			task, err := l.backlog.begin(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer task.end()
			began := time.Now()
			if _, no := l.respondOwn(t.Context(), task, func() any { <-time.After(took); return "" }); no != nil {
				t.Fatal(no)
			}
			return time.Since(began) - took
		}
		if waited := answer(10 * paceAhead); waited > 0 {
			t.Errorf("the first has waited %v", waited)
		}
		want := (10*paceAhead-costOfOwn)*2/time.Duration(runtime.GOMAXPROCS(0)) - paceAhead
		if waited := answer(0); waited < want || waited > want+paceAhead/10 {
			t.Errorf("the next has waited %v, want %v", waited, want)
		}
	})
}

// TestSavingIsPaced holds that the time counts that codemode takes to keep a guest's files and tools, where others have
// runs, and that no session has its Python started again and again without a rest then.
func TestSavingIsPaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := scriptedBridge(t, func(g *bridgetest.Guest) { g.Run() })
		l := &live{
			bridge: b, session: "one", ctx: t.Context(), box: oneFile{}, leaves: true, known: map[string]string{},
		}
		keep := func(took time.Duration) (waited time.Duration) {
			began := time.Now()
			l.news = true
			slow := Request{OutFiles: func(sandbox.OutFile) error { <-time.After(took); return nil }}
			var out Outcome
			if l.saveOutFiles(t.Context(), &out, &run{req: slow}); len(out.Notes) > 0 {
				t.Fatal(out.Notes)
			}
			return time.Since(began) - took
		}
		restart := func() (took time.Duration) {
			began := time.Now()
			for range 30 {
				b.Run(t.Context(), Request{Session: "restless", Code: "x"})
			}
			return time.Since(began)
		}
		defer b.readings.runs.Join("one", 1).Leave()
		if waited := keep(10*paceAhead) + keep(0); waited > 0 {
			t.Errorf("alone, it has waited %v", waited)
		}
		for range 2 {
			defer b.readings.runs.Join("other", 1).Leave()
		}
		keep(paceAhead)
		if waited, want := keep(0), paceAhead*8/time.Duration(runtime.GOMAXPROCS(0))-paceAhead; waited < want {
			t.Errorf("beside another, it has waited %v, want %v", waited, want)
		}
		want := 30*costOfStart*12/time.Duration(runtime.GOMAXPROCS(0)) - 2*paceAhead
		if took := restart(); took < want {
			t.Errorf("30 starts took %v, want %v", took, want)
		}
	})
}

// TestDrawingsAreGivenBack: what drawing took of memory does not stay codemode's.
func TestDrawingsAreGivenBack(t *testing.T) {
	b := New(Options{Config: testConfig()})
	defer b.Close()
	l := &live{bridge: b, session: "one", ctx: t.Context(), run: &run{n: 1}}
	shapes := strings.Repeat("<g/>", 1_000_000)
	drawing := `<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9">` + shapes + "</svg>"
	shown, err := json.Marshal(guest.Display{Run: 1, MIME: "image/svg+xml", Data: []byte(drawing)})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.display(shown); err != nil {
		t.Fatal(err)
	}
	if b.readings.freed < maxMessage/2 {
		t.Errorf("%d bytes count as freed: no memory is given back for them", b.readings.freed)
	}
	if b.readings.tidy(); b.readings.freed != 0 {
		t.Errorf("%d bytes are still to be given back", b.readings.freed)
	}
}

// oneFile is a sandbox whose guest has left one file.
type oneFile struct{ sandbox.Sandbox }

func (oneFile) OutFiles(_ context.Context, _ map[string]string, take func(sandbox.OutFile) error) error {
	return take(sandbox.OutFile{Name: "one"})
}

// TestDecodingIsPaced holds that the time counts, and what follows it, that decoding a guest's message takes.
func TestDecodingIsPaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(Options{Config: testConfig()})
		defer b.Close()
		l := &live{bridge: b, session: "one", ctx: t.Context()}
		for _, session := range []string{"one", "other"} {
			defer b.readings.runs.Join(session, 1).Leave()
		}
		for _, size := range []int{countedText, longText, largeCall - 1} {
			done := l.parse(size)
			<-time.After(time.Second)
			done()
			began := time.Now()
			if err := l.pace.Wait(t.Context(), 0); err != nil {
				t.Fatal(err)
			}
			want := time.Duration(0)
			if size > countedText {
				want = afterDecoding * 8 * time.Second / time.Duration(runtime.GOMAXPROCS(0))
			}
			if waited := time.Since(began); waited < want || waited > want+time.Second {
				t.Errorf("behind %d bytes it has waited %v, want %v", size, waited, want)
			}
		}
	})
}

// TestFloodIsPaced holds that what a guest says is worked on at that pace.
func TestFloodIsPaced(t *testing.T) {
	b, _ := scriptedBridge(t, func(g *bridgetest.Guest) {
		id, _, ok := g.Run()
		if !ok {
			return
		}
		for i := range 50 * runtime.GOMAXPROCS(0) {
			g.Send(`{"jsonrpc":"2.0","id":%d,"method":"packages/add","params":{"names":["none"]}}`, 1000+i)
		}
		g.Send(`{"jsonrpc":"2.0","id":%d,"result":{"status":"ok"}}`, id)
	})
	began := time.Now()
	out := b.Run(t.Context(), Request{Code: "x"})
	if took := time.Since(began); out.Status != StatusSuccess || took < time.Second-paceAhead {
		t.Errorf("it took %v: %s", took, out.compact())
	}
}
