package upstream

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	noticeOfProgress = `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":9,"progress":1}}`
	noticeOfNothing  = `{"jsonrpc":"2.0","method":"notifications/none"}`
)

// withValues is a notification with so many empty lists.
func withValues(method string, count int) string {
	lists := strings.Repeat("[],", count)
	return fmt.Sprintf(`{"jsonrpc":"2.0","method":%q,"params":{"level":"error","data":[%s[]]}}`, method, lists)
}

// paced is a connection of a pool in which so many other servers are not read.
func paced(others int64) *calls {
	c := connected(func(context.Context) (mcp.InputResponse, error) { return &mcp.ElicitResult{}, nil })
	waiting := &atomic.Int64{}
	waiting.Store(others)
	c.pace = newPace(c.life, waiting)
	return c
}

// TestServersArePaced holds that of what a server says unasked no more is read than its part of the processors deals
// with, after a second of that, and that nothing else is held up.
func TestServersArePaced(t *testing.T) {
	each := func(line string) func(int) string { return func(int) string { return line } }
	asking := func(method string) func(int) string {
		return func(n int) string { return fmt.Sprintf(`{"jsonrpc":"2.0","id":"%d","method":%q}`, n, method) }
	}
	for name, c := range map[string]struct {
		line   func(n int) string
		others int64
		count  int
		pause  time.Duration // between two
		cost   time.Duration // of all of them
	}{
		"progress":       {each(noticeOfProgress), 0, 50_000, 0, time.Second},
		"news":           {each(noticeOfNothing), 0, 10_000, 0, time.Second},
		"news of eight":  {each(noticeOfNothing), 7, 10_000, 0, 2 * time.Second},
		"no messages":    {each("hello"), 0, 50_000, 0, time.Second},
		"wrong answers":  {each(`{"jsonrpc":"2.0","id":7000000,"result":{}}`), 0, 10_000, 0, time.Second},
		"long ones":      {each(strings.Repeat("x", 100_000)), 0, 1000, 0, 1020 * time.Millisecond},
		"forms":          {asking("elicitation/create"), 0, 200, 0, time.Second},
		"samples":        {asking("sampling/createMessage"), 0, 1000, 0, time.Second},
		"folders":        {asking("roots/list"), 0, 1000, 0, time.Second / 2},
		"a few folders":  {asking("roots/list"), 0, 200, 0, 0},
		"many values":    {each(withValues("notifications/none", 20_000)), 0, 50, 0, 235 * time.Millisecond},
		"and a torn end": {each(withValues("notifications/none", 20_000)[:60_000]), 0, 50, 0, 231 * time.Millisecond},
		"a long log":     {each(withValues("notifications/message", 200_000)), 0, 200, 0, 1220 * time.Millisecond},
		"answers":        {func(n int) string { return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{}}`, n+1) }, 0, 20_000, 0, 0},
		"honest":         {each(noticeOfProgress), 0, 5000, time.Millisecond, 0},
		"honest, of ten": {each(noticeOfProgress), 9, 5000, 2 * time.Millisecond, 0},
		"a few":          {each(noticeOfNothing), 0, 500, 0, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			conn := paced(c.others)
			for n := range c.count {
				id, _ := jsonrpc.MakeID(float64(n + 1))
				conn.register(request{id, "tools/call", &slot{}})
			}
			took := time.Duration(0)
			for n := range c.count {
				conn.message([]byte(c.line(n)), nil)
				began := time.Now()
				conn.pace.wait()
				took += time.Since(began)
				<-time.After(c.pause)
			}
			want := c.cost * partOfServer / time.Duration(runtime.GOMAXPROCS(0))
			if most := want + want/20; c.cost == 0 && took > 0 || c.cost > 0 && (took < want-paceAhead || took > most) {
				t.Errorf("%s: it took %v, want %v", name, took, want-paceAhead)
			}
			conn.finish()
			conn.work.Wait()
		})
	}
}

// TestLeftAnswersAreNotPaced: an answer that was asked for does not count, also when who asked has gone meanwhile; one
// more than those does.
func TestLeftAnswersAreNotPaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const count = 3
		conn := paced(0)
		for n := range count {
			s := &slot{}
			id, _ := jsonrpc.MakeID(float64(n + 1))
			conn.register(request{id, "resources/read", s})
			if _, err := conn.take(s); err != nil {
				t.Fatal(err)
			}
		}
		text := []byte(`{"jsonrpc":"2.0","id":1,"result":{"x":"` + strings.Repeat("x", 32<<20) + `"}}`)
		for n := range count + 1 {
			conn.message(text, nil)
			began := time.Now()
			conn.pace.wait()
			if waited := time.Since(began) > 0; waited != (n == count) {
				t.Errorf("after answer %d the server waits: %t", n+1, waited)
			}
		}
		conn.finish()
		conn.work.Wait()
	})
}

// TestStderrIsPaced is the same of standard error, until the connection ends.
func TestStderrIsPaced(t *testing.T) {
	for name, lines := range map[string]int{"long lines": 0, "short ones": 4096} {
		synctest.Test(t, func(t *testing.T) {
			c := paced(0)
			told := 0
			line, read := newPace(c.pace.ctx, &atomic.Int64{}).stderr(func(string, bool) { told++ })
			const bytes = 8 << 10
			cost := costOfRead + bytes*costOfByte + time.Duration(lines)*costOfLine
			reads := int(time.Second / cost)
			flood := func() time.Duration {
				began := time.Now()
				for range reads {
					for range lines {
						line("x", false)
					}
					read(bytes)
				}
				return time.Since(began)
			}
			want := time.Second*partOfServer/time.Duration(runtime.GOMAXPROCS(0)) - paceAhead
			if took := flood(); took < want*9/10 || told != reads*lines {
				t.Errorf("%s: %d reads of %d lines took %v, want %v", name, reads, told, took, want)
			}
			c.closes()
			if took := flood(); took > 0 {
				t.Errorf("%s: behind the end it took %v", name, took)
			}
			c.finish()
		})
	}
}

// TestEventsArePaced is the same of servers by URL, also of what stands between events.
func TestEventsArePaced(t *testing.T) {
	for text, cost := range map[string]time.Duration{
		"data: " + noticeOfNothing + "\n\n": costForSDK, ":\n": costOfLine,
		"data: " + withValues("notifications/none", 20_000) + "\n\n": 20_000 * costOfValue,
	} {
		synctest.Test(t, func(t *testing.T) {
			c := paced(0)
			c.rooms = newRooms(1 << 20)
			count := int(time.Second / cost)
			began := time.Now()
			stream := io.NopCloser(strings.NewReader(strings.Repeat(text, count)))
			if _, err := io.ReadAll(newEventBody(stream, nil, &remote{calls: c}, outgoing{})); err != nil {
				t.Fatal(err)
			}
			want := time.Second*partOfServer/time.Duration(runtime.GOMAXPROCS(0)) - paceAhead
			if took := time.Since(began); took < want {
				t.Errorf("%.20q: it took %v, want %v", text, took, want)
			}
			c.finish()
		})
	}
}

// TestFloodIsPaced has a server say more before it answers than is read at once, and another that is ended while it
// is not read.
func TestFloodIsPaced(t *testing.T) {
	f := newPool(t, nil, fake("stub"))
	f.names("stub")
	count := int(2 * time.Second / (costForSDK * partOfServer / time.Duration(runtime.GOMAXPROCS(0))))
	began := time.Now()
	f.lines("stub", strings.TrimSpace(strings.Repeat(noticeOfNothing+"\n", count)))
	if took := time.Since(began); took < 2*time.Second-paceAhead {
		t.Errorf("it took %v", took)
	}
	ctx, cancel := context.WithCancel(f.ctx())
	defer cancel()
	over := make(chan struct{})
	go func() {
		defer close(over)
		_, _ = f.Call(ctx, "stub", "unasked", json.RawMessage(`{"what":"log"}`))
	}()
	for f.Pool.unread.Load() == 0 {
		<-time.After(time.Millisecond)
	}
	f.Close()
	<-over
}
