package bridge

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestCancelledConcurrency holds that a call which was cancelled counts for policy.concurrency a while longer, and one
// that was answered does not.
func TestCancelledConcurrency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLanes(1)
		defer l.close()
		for _, c := range []struct {
			cancelled bool
			want      time.Duration
		}{{false, 0}, {true, cancelRest}, {false, 0}} {
			ctx, cancel := context.WithCancel(t.Context())
			leave, err := l.enter(ctx, "session", 1)
			if err != nil {
				t.Fatal(err)
			}
			if c.cancelled {
				cancel()
			}
			leave()
			began := time.Now()
			next, err := l.enter(t.Context(), "session", 1)
			if err != nil {
				t.Fatal(err)
			}
			if waited := time.Since(began); waited != c.want {
				t.Errorf("after a call (cancelled: %v) the next waits %v, want %v", c.cancelled, waited, c.want)
			}
			next()
			cancel()
		}
	})
}

// TestProbes holds that a session whose many calls were cancelled gives the server one at a time, ever more
// rarely, until one is answered that was sent after them: by then the server is done with them, or never did them.
func TestProbes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLanes(0)
		defer l.close()
		run := func(session string, calls int, took time.Duration) (sent int) {
			ctx, cancel := context.WithTimeout(t.Context(), took)
			defer cancel()
			var wg sync.WaitGroup
			var mu sync.Mutex
			for range calls {
				wg.Go(func() {
					leave, err := l.enter(ctx, session, 1)
					if err != nil {
						return
					}
					mu.Lock()
					sent++
					mu.Unlock()
					<-ctx.Done() // it is not answered
					leave()
				})
			}
			wg.Wait()
			return sent
		}
		answered := func(session string) {
			leave, err := l.enter(t.Context(), session, 1)
			if err != nil {
				t.Fatal(err)
			}
			leave()
		}
		if sent := run("few", callsBeside, time.Second); sent != callsBeside {
			t.Fatalf("%d were sent", sent)
		}
		if sent := run("few", 1, time.Second) + run("few", 2, time.Second); sent != 2 {
			t.Errorf("after %d that were cancelled, %d were sent, not one and then one", callsBeside, sent)
		}
		<-time.After(time.Minute) // it is alone
		run("flood", callsUnderWay/2, time.Second)
		sent := 0
		for range 60 {
			sent += run("flood", 50, time.Second)
		}
		if sent < 2 || sent > 5 {
			t.Errorf("of a backlog that is not worked on, %d more were sent in a minute", sent)
		}
		answered("other")
		if sent := run("flood", 50, time.Second); sent != callsBeside {
			t.Errorf("once a later call was answered, %d of 50 were sent", sent)
		}
		<-time.After(time.Minute)
		answered("flood")
		if len(l.cancelled) > 0 {
			t.Errorf("%d sessions still count as waited for", len(l.cancelled))
		}
	})
}
