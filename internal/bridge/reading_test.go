package bridge

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"codemode/internal/bridge/bridgetest"
	"codemode/internal/fair"
	"codemode/internal/guest"
)

// TestUnfinishedLines has eight sessions begin the largest message and never end it: together they cost what three do,
// and a session whose message ends gets it through while they go on.
func TestUnfinishedLines(t *testing.T) {
	if raced {
		t.Skip("it measures memory, and the race detector's own would count; it runs without -race")
	}
	const sessions, most = 8, 256 << 20
	piece := []byte(strings.Repeat("x", 64<<10))
	synctest.Test(t, func(t *testing.T) {
		b, _ := scriptedBridge(t, func(g *bridgetest.Guest) {
			id, params, ok := g.Run()
			if !ok {
				return
			}
			if params["code"] == "honest" {
				g.Send(`{"jsonrpc":"2.0","method":"unknown","params":{"x":%q}}`, strings.Repeat("x", 2<<20))
				g.Send(`{"jsonrpc":"2.0","id":%d,"result":{"status":"ok"}}`, id)
				g.Drain()
				return
			}
			go g.Drain()
			for range maxMessage/len(piece) - 2 {
				if _, err := g.Conn.Write(piece); err != nil {
					return
				}
			}
			<-g.Box.Done()
		})
		before := heap()
		ended := make(chan Outcome, sessions)
		for i := range sessions {
			go func() {
				ended <- b.Run(t.Context(), Request{Session: fmt.Sprint(i), Code: "hostile", Timeout: time.Hour})
			}()
		}
		synctest.Wait()
		grown := heap() - before
		t.Logf("%d sessions hold %d MiB", sessions, grown>>20)
		if grown > most {
			t.Errorf("unfinished lines of %d sessions hold %d MiB, not at most %d", sessions, grown>>20, most>>20)
		}
		began := time.Now()
		if out := b.Run(t.Context(), Request{Session: "honest", Code: "honest", Timeout: time.Hour}); out.Status != StatusSuccess {
			t.Errorf("beside them: %s", out.compact())
		}
		turns := time.Duration(sessions/(largeBudget/maxMessage) + 1)
		if took := time.Since(began); took > turns*(longestLine+fair.Look) {
			t.Errorf("its message went through after %v", took)
		}
		out := <-ended
		contains(t, out.compact(), "had not ended after 5s, while other sessions waited to send theirs")
	})
}

func heap() int {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// large has a session come with a large message; begun tells whether it may be read.
func large(t *testing.T, r *readings, session string, end func(error)) (begun func() *largeMessage) {
	t.Helper()
	got := make(chan *largeMessage, 1)
	go func() {
		if m, err := r.begin(t.Context(), session, end); err == nil {
			got <- m
		}
	}()
	return func() *largeMessage {
		synctest.Wait()
		select {
		case m := <-got:
			return m
		default:
			return nil
		}
	}
}

// TestLargeMessagesShareABudget is about who has room: one that is whole needs no more than its size, and for who
// waits, one that is not whole in time, or is worked on for too long, is ended.
func TestLargeMessagesShareABudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReadings()
		ended := map[string]error{}
		begin := func(session string) func() *largeMessage {
			return large(t, r, session, func(err error) { ended[session] = err })
		}
		a, b, c := begin("a")(), begin("b")(), begin("c")()
		if a == nil || b == nil || c == nil {
			t.Fatal("the budget has no room for three")
		}
		<-time.After(time.Hour)
		if len(ended) > 0 {
			t.Fatal("a line was ended though nobody waited")
		}
		b.whole(2 << 20)
		c.whole(2 << 20)
		d := begin("d")()
		if d == nil {
			t.Fatal("two that are whole leave no room for another")
		}
		b.workedOn(func(err error) { ended["b"] = err })
		waiting := begin("e")
		if waiting() != nil {
			t.Fatal("there is more than the budget")
		}
		<-time.After(fair.Look)
		synctest.Wait()
		if !errors.Is(ended["a"], guest.ErrProtocol) || len(ended) != 1 {
			t.Fatalf("not the oldest alone was ended: %v", ended)
		}
		a.leave()
		e := waiting()
		if e == nil {
			t.Fatal("who has waited has no room")
		}
		d.whole(maxMessage)
		e.whole(maxMessage)
		waiting = begin("f")
		<-time.After(longestHeld)
		if waiting() != nil || ended["b"] == nil || len(ended) != 2 {
			t.Errorf("not the one that is worked on was ended: %v", ended)
		}
		for _, m := range []*largeMessage{b, c, d, e} {
			m.leave()
		}
		if waiting() == nil {
			t.Error("who has waited longest has no room")
		}
	})
}

// TestLargeMessagesOfEndedGuests is about a guest that is gone while its message waits: its place is another's.
func TestLargeMessagesOfEndedGuests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReadings()
		first := large(t, r, "a", nil)()
		large(t, r, "b", nil)()
		large(t, r, "c", nil)()
		ctx, cancel := context.WithCancelCause(t.Context())
		gone := make(chan error, 1)
		go func() {
			_, err := r.begin(ctx, "gone", nil)
			gone <- err
		}()
		synctest.Wait()
		waiting := large(t, r, "d", nil)
		cancel(errRunOver)
		if err := <-gone; !errors.Is(err, errRunOver) {
			t.Errorf("%v", err)
		}
		first.leave()
		if waiting() == nil {
			t.Error("nobody has the place of one that is gone")
		}
	})
}
