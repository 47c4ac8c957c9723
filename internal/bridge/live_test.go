package bridge

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"codemode/internal/config"
	"codemode/internal/guest"
	"codemode/internal/servers"
)

// aPool lists one tool, which has the number of the list.
type aPool struct{ lists int }

func (p *aPool) Tools(context.Context, string) ([]json.RawMessage, error) {
	p.lists++
	return []json.RawMessage{json.RawMessage(fmt.Sprintf(`{"name":"tool_%d"}`, p.lists))}, nil
}

func (*aPool) Refresh(string)             {}
func (*aPool) Fresh(string) time.Duration { return 0 }
func (*aPool) Update([]config.Server)     {}
func (*aPool) KeepSecret([]config.Server) {}

// bridgeOf returns one with a server "a", whose tools a pool lists. The caller closes it.
func bridgeOf(pool servers.Pool) *Bridge {
	b := New(Options{Config: testConfig()})
	b.servers = servers.New(servers.Always(config.Server{Name: "a"}), b.lists, b.admission, b.catalogChanged)
	b.servers.Use(pool)
	return b
}

// TestUnreadNews: a guest that does not read is not told of each change of a server's tools meanwhile, but of the last
// one afterwards.
func TestUnreadNews(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := bridgeOf(&aPool{})
		defer b.Close()
		host, code := net.Pipe()
		l := &live{
			bridge: b, ctx: t.Context(), conn: guest.NewConn(host, maxMessage),
			told: map[string]servers.Version{"a": {Known: true}}, outdated: map[string]bool{},
		}
		const changes = 100
		for range changes {
			b.servers.Forget("a")
			l.refresh("a")
			synctest.Wait()
		}
		var told []string
		go func() {
			for lines := bufio.NewScanner(code); lines.Scan(); {
				told = append(told, lines.Text())
			}
		}()
		l.work.Wait()
		synctest.Wait()
		host.Close()
		now, _ := b.servers.View(config.Server{Name: "a"}, nil)
		if last := told[len(told)-1]; len(told) > 2 || !strings.Contains(last, strconv.Quote(now.Tools[0].Name)) {
			t.Errorf("of %d changes it was told of %d, at last of: %s", changes, len(told), last)
		}
	})
}

// TestSuggestionsTakeTurns: to say which tool a call may have meant, among thousands, goes in turns with decoding.
func TestSuggestionsTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := bridgeOf(&aPool{})
		defer b.Close()
		l := &live{bridge: b, session: "one", ctx: t.Context(), run: &run{}}
		other := &live{bridge: b, session: "two", ctx: t.Context()}
		var held []func()
		for range max(1, runtime.GOMAXPROCS(0)-1) {
			held = append(held, other.decode(maxMessage))
		}
		hint := ""
		go func() {
			_, no := l.admit(t.Context(), guest.ToolCall{Server: "a", Tool: "tol_3"})
			hint = no.data.Hint
		}()
		synctest.Wait()
		if hint != "" {
			t.Errorf("it has not waited: %s", hint)
		}
		held[0]()
		synctest.Wait()
		if hint != `; did you mean "tool_3"?` {
			t.Errorf("the hint is %q", hint)
		}
		for _, leave := range held[1:] {
			leave()
		}
	})
}

// TestSuggestionsArePaced holds that saying which tool was meant counts for more than another answer that takes as
// long.
func TestSuggestionsArePaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := bridgeOf(&aPool{})
		defer b.Close()
		for _, session := range []string{"one", "two"} {
			defer b.readings.runs.Join(session, 1).Leave()
		}
		waits := func(of func(*live) func()) time.Duration {
			l := &live{bridge: b, session: "one", ctx: t.Context()}
			done := of(l)
			<-time.After(time.Second)
			done()
			began := time.Now()
			_ = l.pace.Wait(t.Context(), 0)
			return time.Since(began)
		}
		other, suggestion := waits((*live).answering), waits((*live).suggesting)
		if other == 0 || suggestion < 2*other {
			t.Errorf("it waits %v, after another answer %v", suggestion, other)
		}
	})
}

// TestPathsArePaced holds that the time counts that looking for the host's paths in an answer takes.
func TestPathsArePaced(t *testing.T) {
	b := New(Options{Config: testConfig()})
	defer b.Close()
	l := &live{bridge: b, session: "one", ctx: t.Context()}
	if err := l.sentPaths.add("abcdefghijk2", filepath.Join(t.TempDir(), "abcdefghijk2", "a.txt"), "WORD"); err != nil {
		t.Fatal(err)
	}
	for _, session := range []string{"one", "two"} {
		defer b.readings.runs.Join(session, 1).Leave()
	}
	answer := json.RawMessage(strconv.Quote(strings.Repeat(`\u002f`, 200_000)))
	began := time.Now()
	l.unresolve(guest.MethodToolCall, answer, nil)
	took := time.Since(began)
	began = time.Now()
	if err := l.pace.Wait(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	if waited := time.Since(began); waited < took/4 {
		t.Errorf("it took %v, and the next has waited %v", took, waited)
	}
}
