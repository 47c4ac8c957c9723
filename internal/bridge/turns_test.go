package bridge

import (
	"context"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"codemode/internal/bridge/bridgetest"
	"codemode/internal/config"
)

// TestNotificationsInOrder has the host tell a guest much at once: it arrives in the order in which it was told.
func TestNotificationsInOrder(t *testing.T) {
	const many = 2000
	running, reversed := make(chan struct{}), 0
	b, _ := scriptedBridge(t, func(g *bridgetest.Guest) {
		id, _, ok := g.Run()
		if !ok {
			return
		}
		close(running)
		last := -1
		for range many {
			m := g.Next()
			if m == nil {
				return
			}
			n := int(m["params"].(map[string]any)["n"].(float64))
			if n < last {
				reversed++
			}
			last = n
		}
		g.Send(`{"jsonrpc":"2.0","id":%d,"result":{"status":"ok"}}`, id)
		g.Drain()
	})
	done := make(chan Outcome)
	go func() { done <- b.Run(t.Context(), Request{Code: "x", Timeout: 20 * time.Second}) }()
	<-running
	s, err := b.session(defaultSession)
	if err != nil {
		t.Fatal(err)
	}
	s.mu.Lock()
	l := s.live
	s.mu.Unlock()
	for n := range many {
		l.notify("grease", map[string]int{"n": n})
	}
	if out := <-done; out.Status != StatusSuccess {
		t.Fatal(out.Error)
	}
	if reversed > 0 {
		t.Errorf("%d of %d were overtaken", reversed, many)
	}
}

// TestChecksTakeTurns is about a session that wishes to save many tools at once: another's wish is next.
func TestChecksTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var order []string
		first := make(chan struct{})
		b, _ := scriptedBridge(t, func(g *bridgetest.Guest) {
			for m := g.Next(); m != nil; m = g.Next() {
				if m["method"] != "check" {
					continue
				}
				if len(order) == 0 {
					<-first
				}
				order = append(order, m["params"].(map[string]any)["source"].(string))
				g.Send(`{"jsonrpc":"2.0","id":%v,"result":{"functions":[]}}`, m["id"])
			}
		})
		b.saved = newSaved(t.TempDir(), nil)
		check := func(session string) {
			go func() { _, _ = b.check(context.Background(), session, session) }()
			synctest.Wait()
		}
		for range 20 {
			check("flood")
		}
		check("victim")
		close(first)
		synctest.Wait()
		if got := strings.Join(order, " "); !strings.HasPrefix(got, "flood victim flood") || len(order) != 21 {
			t.Errorf("sources were read in this order: %s", got)
		}
	})
}

// entering has a session come for a lane; entered tells what it holds.
func entering(t *testing.T, l *lanes, session string, size int) (entered func() (leave func())) {
	t.Helper()
	got := make(chan func(), 1)
	go func() {
		leave, err := l.enter(t.Context(), session, size)
		if err == nil {
			got <- leave
		}
	}()
	synctest.Wait()
	return func() func() {
		synctest.Wait()
		select {
		case leave := <-got:
			return leave
		default:
			return nil
		}
	}
}

// TestConcurrencyBySession is policy.concurrency with one session that always wants more: another waits for one call of
// it, and from then on finds its part free.
func TestConcurrencyBySession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLanes(2)
		var flood []func() func()
		for range 20 {
			flood = append(flood, entering(t, l, "flood", 10))
		}
		one, two := flood[0](), flood[1]()
		if one == nil || two == nil {
			t.Fatal("alone, a session does not have all there is")
		}
		victim := entering(t, l, "victim", 10)
		one()
		leave := victim()
		if leave == nil {
			t.Fatal("when one call had ended, the next was not the other session's")
		}
		leave()
		if leave = entering(t, l, "victim", 10)(); leave == nil {
			t.Error("the other session has no part of its own")
		} else {
			leave()
		}
		two()
		for _, f := range flood[2:] {
			leave := f()
			if leave == nil {
				t.Fatal("the flood does not go on")
			}
			leave()
		}
	})
}

// TestLargeCalls is about a session that sends what a server is long busy with: there is one such call at a time, and
// between two of them the server is the others'.
func TestLargeCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLanes(0)
		first, second := entering(t, l, "large", 20<<20), entering(t, l, "large", 20<<20)
		leave := first()
		if leave == nil || second() != nil {
			t.Fatal("not one at a time")
		}
		small := entering(t, l, "victim", 10)
		const took = 300 * time.Millisecond
		<-time.After(took)
		leave()
		if leave = small(); leave == nil {
			t.Fatal("a small call waits for more than one large one")
		}
		leave()
		<-time.After(took - time.Millisecond)
		if second() != nil {
			t.Error("the next large call came before the others had had as long")
		}
		<-time.After(time.Millisecond)
		if leave = second(); leave == nil {
			t.Fatal("the next large call does not come")
		}
		leave()
		<-time.After(longestRest)
	})
}

// TestFloodOfSmallCalls has a session make as many calls as it may: beside another it has few under way, and cancelled
// ones count on for a while.
func TestFloodOfSmallCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLanes(0)
		leave, err := l.enter(t.Context(), "victim", 10)
		if err != nil {
			t.Fatal(err)
		}
		leave()
		ctx, cancel := context.WithCancel(t.Context())
		var under atomic.Int64
		for range callsUnderWay {
			go func() {
				if leave, err := l.enter(ctx, "flood", 10); err == nil {
					under.Add(1)
					<-ctx.Done()
					leave()
				}
			}()
		}
		synctest.Wait()
		if n := under.Load(); n != callsBeside {
			t.Errorf("%d are under way", n)
		}
		cancel()
		synctest.Wait()
		again := entering(t, l, "flood", 10)
		if again() != nil {
			t.Error("a call follows the cancelled ones at once")
		}
		<-time.After(cancelRest)
		if again() == nil {
			t.Error("no call follows the cancelled ones")
		}
	})
}

func TestLanesByServer(t *testing.T) {
	a := newAdmission(testConfig().Policy)
	one := a.to("one")
	if one == a.to("two") || a.to("one") != one {
		t.Error("lanes are not those of a server")
	}
}

// TestDecodingTakesTurns has a session read what is long while another does: a processor is left for what is short.
func TestDecodingTakesTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(Options{Config: testConfig()})
		defer b.Close()
		one, two := &live{
			bridge: b, session: "one", ctx: t.Context(),
		}, &live{
			bridge: b, session: "two", ctx: t.Context(),
		}
		var held []func()
		reading := 0
		for range 64 { // more than there are processors
			go func() {
				done := one.decode(maxMessage)
				reading++
				held = append(held, done)
			}()
		}
		synctest.Wait()
		if most := max(1, runtime.GOMAXPROCS(0)-1); reading != most {
			t.Errorf("%d read at once, not %d", reading, most)
		}
		two.decode(longText)() // waits for nothing
		second := false
		go func() {
			defer two.decode(maxMessage)()
			second = true
		}()
		synctest.Wait()
		held[0]()
		synctest.Wait()
		if !second {
			t.Error("the next was not the other session")
		}
		for i := 1; i < len(held); i++ {
			held[i]()
			synctest.Wait()
		}
	})
}

// TestRestsEnd is about the end of codemode while a server is left to others: no timer outlives it.
func TestRestsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAdmission(config.Policy{})
		l := a.to("one")
		other, err := l.enter(t.Context(), "other", 1)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		leave, err := l.enter(ctx, "one", 1)
		if err != nil {
			t.Fatal(err)
		}
		cancel()
		leave()
		other()
		if len(l.rests) != 1 {
			t.Fatalf("%d turns rest", len(l.rests))
		}
		a.close()
		<-time.After(2 * longestRest)
		synctest.Wait()
		if l.rests != nil || !l.calls.Crowded("other") {
			t.Error("a turn has ended after its owner")
		}
	})
}
