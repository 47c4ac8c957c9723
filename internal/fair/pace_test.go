package fair

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// TestPace: what is counted is waited for, but for what may be ahead, which comes again with time.
func TestPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p Pace
		if began := time.Now(); p.Wait(t.Context(), time.Second) != nil || time.Since(began) != 0 {
			t.Errorf("who has done nothing waits %v", time.Since(began))
		}
		spend := func(times int) time.Duration {
			began := time.Now()
			for range times {
				p.Count(10 * time.Millisecond)
				if err := p.Wait(t.Context(), time.Second); err != nil {
					t.Fatal(err)
				}
			}
			return time.Since(began)
		}
		if took := spend(100); took != 0 {
			t.Errorf("what may be ahead took %v", took)
		}
		if took := spend(1000); took < 10*time.Second || took > 10*time.Second+10*rest {
			t.Errorf("ten seconds took %v", took)
		}
		<-time.After(time.Hour)
		if took := spend(100); took != 0 {
			t.Errorf("after an hour, what may be ahead took %v", took)
		}
		gone := errors.New("gone")
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, gone)
		defer cancel()
		p.Count(time.Hour)
		if err := p.Wait(ctx, time.Second); !errors.Is(err, gone) {
			t.Errorf("who is gone waits: %v", err)
		}
	})
}
