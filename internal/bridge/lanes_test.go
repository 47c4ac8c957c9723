package bridge

import (
	"context"
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
