package bridge

import (
	"bytes"
	"context"
	"errors"
	"image"
	"image/png"
	"runtime"
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

// TestLargeCalls is about a session that sends what a server is long busy with: there is one such call at a time,
// between two of them the server is the others' for as long, and for thirty times as long between two of one session.
func TestLargeCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLanes(0)
		first, second := entering(t, l, "large", 2<<20), entering(t, l, "large", 2<<20)
		other := entering(t, l, "other", 2<<20)
		leave := first()
		if leave == nil || second() != nil || other() != nil {
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
		if other() != nil {
			t.Error("the next large call came before the others had had as long")
		}
		<-time.After(time.Millisecond)
		if leave = other(); leave == nil {
			t.Fatal("another session's large call does not come")
		}
		leave()
		<-time.After((ownRests-1)*took - time.Millisecond)
		if second() != nil {
			t.Error("the session's next large call came before others had had thirty times as long")
		}
		<-time.After(cancelRest)
		if leave = second(); leave == nil {
			t.Fatal("the session's next large call does not come")
		}
		leave()
		<-time.After(longestRest)
	})
}

// TestLargeCallsCancelled has a session cancel a large call at once, and so have its server be busy with many.
func TestLargeCallsCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLanes(0)
		entering(t, l, "victim", 10)()()
		ctx, cancel := context.WithCancel(t.Context())
		leave, err := l.enter(ctx, "large", 2<<20)
		if err != nil {
			t.Fatal(err)
		}
		cancel()
		leave()
		next := entering(t, l, "large", 2<<20)
		victim := time.NewTicker(cancelRest)
		defer victim.Stop()
		for range ownRests - 1 {
			<-victim.C
			if next() != nil {
				t.Fatal("the next came before the server can have dealt with the one that was cancelled")
			}
			entering(t, l, "victim", 10)()()
		}
		<-time.After(2 * cancelRest)
		if leave = next(); leave == nil {
			t.Fatal("the next does not come")
		}
		leave()
	})
}

// TestLargeCallsAlone: who alone uses a server is held up by nothing.
func TestLargeCallsAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLanes(0)
		for range 3 {
			leave := entering(t, l, "large", 2<<20)()
			if leave == nil {
				t.Fatal("it waits for nobody")
			}
			<-time.After(time.Second)
			leave()
		}
	})
}

// TestHugeCalls: what keeps a server busy for longest is sent in a moment in which no other session uses that, and
// refused where none comes, however often another's calls begin and end.
func TestHugeCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLanes(0)
		entering(t, l, "victim", 10)()()
		huge := entering(t, l, "huge", hugeCall)
		<-time.After(moment - quietLook)
		if huge() != nil {
			t.Fatal("it was sent while another used the server")
		}
		<-time.After(2 * quietLook)
		leave := huge()
		if leave == nil {
			t.Fatal("it was not sent when no other used the server any more")
		}
		leave()
		<-time.After(longestOwnRest)

		refused := make(chan error, 1)
		entering(t, l, "victim", 10)()()
		go func() {
			_, err := l.enter(t.Context(), "huge", hugeCall)
			refused <- err
		}()
		for range longestQuiet/moment + 2 {
			<-time.After(moment - quietLook)
			if leave := entering(t, l, "victim", 10)(); leave == nil {
				t.Fatal("another's call waits for it")
			} else {
				leave()
			}
		}
		select {
		case err := <-refused:
			if !errors.As(err, new(*crowdedError)) {
				t.Errorf("it was let in or ended otherwise: %v", err)
			}
		default:
			t.Error("it still waits")
		}
		if leave := entering(t, l, "alone", hugeCall-1)(); leave == nil {
			t.Error("one that is not huge was held up")
		} else {
			leave()
		}
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
	one := a.lanesOf("one")
	if one == a.lanesOf("two") || a.lanesOf("one") != one {
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
		ofTwo := context.WithValue(t.Context(), activeCallKey{}, &activeCall{live: two})
		wire{}.Turn(ofTwo, longText/costOfMasking)()
		masking := false
		go func() {
			defer wire{}.Turn(ofTwo, 1+longText/costOfMasking)()
			masking = true
		}()
		synctest.Wait()
		if masking {
			t.Error("secrets are looked for without a turn")
		}
		for i := 1; i < len(held); i++ {
			held[i]()
			synctest.Wait()
		}
	})
}

// TestSmallPictures: who shows a small image does not wait for larger ones of others, and a large one is decoded in its
// turn.
func TestSmallPictures(t *testing.T) {
	show := func(ctx context.Context, q pictures, width, height int) error {
		var b bytes.Buffer
		if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, width, height))); err != nil {
			t.Fatal(err)
		}
		_, _, err := q.clean(ctx, "two", "image/png", b.Bytes())
		return err
	}
	sides := []int{50, 1000, 2000}
	for busy := range sides {
		q := newPictures()
		leave, err := q[busy].queue.Enter(t.Context(), "one", 1) // as if one decoded
		if err != nil {
			t.Fatal(err)
		}
		for n, side := range sides {
			ctx, cancel := context.WithCancel(t.Context())
			if n >= busy {
				cancel()
			}
			if err := show(ctx, q, side, side); errors.Is(err, context.Canceled) != (n >= busy) {
				t.Errorf("%d × %d, beside one of %d: %v", side, side, sides[busy], err)
			}
			cancel()
		}
		leave()
		if err := show(t.Context(), q, 2000, 2000); err != nil {
			t.Error(err)
		}
	}
}

// TestRestsEnd is about the end of codemode while a server is left to others: no timer outlives it.
func TestRestsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAdmission(config.Policy{})
		l := a.lanesOf("one")
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

// TestLargeMessagesRest has a session send one large message after the other: the next is read much later while others
// have runs, and at once where none has. It sheds its rest neither by a new guest nor by more messages.
func TestLargeMessagesRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReadings()
		const took = 100 * time.Millisecond
		waited := func(session string) time.Duration {
			began := time.Now()
			r.wait(t.Context(), session)
			return time.Since(began)
		}
		r.runs.Join("flood", 1)
		r.took("flood", took)
		if d := waited("flood"); d != 0 {
			t.Errorf("alone, a session waits %v", d)
		}
		r.runs.Join("victim", 1).Leave()
		if d := waited("flood"); d != readingRests*took {
			t.Errorf("beside another, it waits %v", d)
		}
		if d := waited("victim"); d != 0 {
			t.Errorf("another waits %v", d)
		}
		for range 100 {
			r.took("flood", took)
		}
		r.runs.Join("victim", 1)
		if d := waited("flood"); d != longestReadingRest {
			t.Errorf("after a hundred it waits %v", d)
		}
		r.took("flood", took)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		began := time.Now()
		if r.wait(ctx, "flood"); time.Since(began) != 0 {
			t.Error("who is ending waits")
		}
	})
}

// TestLargeErrorsAreRare: whose calls are answered with large errors, or with the largest results, waits, if others
// have runs; a smaller one costs nothing of the kind.
func TestLargeErrorsAreRare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(Options{Config: testConfig()})
		defer b.Close()
		l := &live{bridge: b, session: "flood", ctx: t.Context()}
		of := context.WithValue(t.Context(), activeCallKey{}, &activeCall{live: l})
		waits := func(when string, want time.Duration) {
			began := time.Now()
			if _ = l.pace.Wait(t.Context(), 0); time.Since(began).Round(time.Second) != want {
				t.Errorf("%s: %v, want %v", when, time.Since(began), want)
			}
		}
		b.readings.runs.Join("flood", 1)
		const size = 5 << 20
		wire{}.Failure(of, size)()
		wire{}.Answered(of, 64<<20)
		waits("alone", 0)
		b.readings.runs.Join("victim", 1)
		wire{}.Turn(of, size)()
		wire{}.Failure(of, longText)()
		waits("no large error", 0)
		wire{}.Failure(of, size)()
		waits("beside another", (failureRests * size * costOfByte).Round(time.Second))
		wire{}.Failure(of, 100*size)()
		waits("the largest", longestReadingRest)
		wire{}.Answered(of, largeAnswer)
		waits("no large answer", 0)
		wire{}.Answered(of, largeAnswer+size)
		waits("a large answer", (failureRests * size * costOfByte).Round(time.Second))
		wire{}.Answered(of, 64<<20)
		waits("the largest answer", longestReadingRest)
	})
}
