package servers

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidwall/gjson"

	"codemode/internal/config"
	"codemode/internal/guest"
	"codemode/internal/policy"
	"codemode/internal/upstream"
)

// aPool lists the same tools to all who ask, once so many have asked.
type aPool struct {
	tools []json.RawMessage
	other func() []json.RawMessage // what is listed after a refresh; nil is the same
	all   int
	asked sync.WaitGroup
	calls atomic.Int32
}

func (p *aPool) Tools(context.Context, string) ([]json.RawMessage, error) {
	p.calls.Add(1)
	if p.all > 0 {
		p.asked.Done()
		p.asked.Wait()
	}
	return p.tools, nil
}

func (p *aPool) Refresh(string) {
	if p.other != nil {
		p.tools = p.other()
	}
}

func (*aPool) Fresh(string) time.Duration { return 0 }
func (*aPool) Update([]config.Server)     {}
func (*aPool) KeepSecret([]config.Server) {}

// aJudge counts the tools it is asked of.
type aJudge struct{ tools atomic.Int32 }

func (j *aJudge) Prepare(c policy.Call) policy.Call {
	j.tools.Add(1)
	return c
}

func (*aJudge) Note(policy.Call) string { return "" }

// TestOneMakes: of many who need a server's tools at the same time, one makes what is known of them, be it from what
// the server lists or from what an earlier process has kept, for which nobody then starts the server.
func TestOneMakes(t *testing.T) {
	const many, tools = 64, 500
	var list []json.RawMessage
	for i := range tools {
		list = append(list, json.RawMessage(fmt.Sprintf(`{"name": "tool_%d", "inputSchema": {"type": "object"}}`, i)))
	}
	dir := t.TempDir()
	for _, asked := range []int{many, 0} { // the second inventory finds what the first has kept
		judge, pool := &aJudge{}, &aPool{tools: list, all: asked}
		pool.asked.Add(asked)
		lists := OpenLists(ListsOptions{Dir: dir, Log: slog.New(slog.DiscardHandler)})
		s := New(Always(entryOf("a")), lists, judge, func(string) {})
		s.Use(pool)
		known := make([]*Known, many)
		var work sync.WaitGroup
		for i := range many {
			work.Go(func() {
				var err error
				if known[i], err = s.Know(t.Context(), entryOf("a")); err != nil {
					t.Error(err)
				}
			})
		}
		work.Wait()
		for _, k := range known {
			if k != known[0] || len(k.Calls) != tools {
				t.Fatal("they know different things")
			}
		}
		if n := judge.tools.Load(); n != tools {
			t.Errorf("%d tools were looked at for %d", n, tools)
		}
		if n := pool.calls.Load(); n != int32(asked) {
			t.Errorf("the server was asked %d times, want %d", n, asked)
		}
	}
}

// TestNewsAreRare: code that asks for names that a server does not list has it asked again after a rest, also where it
// has other tools each time, of which every session is told.
func TestNewsAreRare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		version, told := 0, 0
		list := func() []json.RawMessage {
			version++
			return []json.RawMessage{
				json.RawMessage(fmt.Sprintf(`{"name":"tool_%d","description":"%s"}`, version, strings.Repeat("x", 100_000))),
			}
		}
		lists := OpenLists(ListsOptions{Log: slog.New(slog.DiscardHandler)})
		s := New(Always(entryOf("a")), lists, &aJudge{}, func(string) { told++ })
		s.Use(&aPool{tools: list(), other: list})
		began := time.Now()
		for n := range 10 {
			name := fmt.Sprintf("tool_%d", n+2) // which its server has only when it is asked again
			if _, err := s.Callable(t.Context(), entryOf("a"), name); err != nil {
				t.Error(err)
			}
		}
		if took, least := time.Since(began), 9*100_000*upstream.ChangePerByte; told != 10 || took < least || took > 2*least {
			t.Errorf("everybody was told %d times in %v, want 10 times in %v", told, took, least)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if _, err := s.Callable(ctx, entryOf("a"), "none"); err == nil || ctx.Err() == nil {
			t.Errorf("the error is %v, and nobody waited", err)
		}
	})
}

// TestEntry: what a guest is told of a server is made once for those that may call it, and once for the others.
func TestEntry(t *testing.T) {
	k := &Known{Server: guest.Server{Name: "a", Loaded: true}}
	for _, loaded := range []bool{true, false} {
		first, again := k.Entry(loaded).(json.RawMessage), k.Entry(loaded).(json.RawMessage)
		if gjson.GetBytes(first, "loaded").Bool() != loaded || &first[0] != &again[0] {
			t.Errorf("%s, and then %s", first, again)
		}
	}
}
