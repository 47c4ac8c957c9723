package servers

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"codemode/internal/config"
	"codemode/internal/policy"
)

// aPool lists the same tools to all who ask, once so many have asked.
type aPool struct {
	tools []json.RawMessage
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

func (*aPool) Refresh(string)             {}
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
