package bridge

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"codemode/internal/guest"
)

// TestPace holds that a guest has no more done than its part of the processors, after half a second.
func TestPace(t *testing.T) {
	for name, c := range map[string]struct {
		message  guest.Message
		sessions int
		count    int
		cost     time.Duration // of all of them
	}{
		"notes alone":       {guest.Message{Method: "none"}, 1, 50_000, time.Second},
		"notes among seven": {guest.Message{Method: "none"}, 7, 50_000, 14 * time.Second},
		"calls alone":       {guest.Message{HasID: true, Method: guest.MethodToolCall}, 1, 10_000, 2200 * time.Millisecond},
		"searches alone":    {guest.Message{HasID: true, Method: guest.MethodSearch}, 1, 1_000, 1020 * time.Millisecond},
		"packages of two":   {guest.Message{HasID: true, Method: guest.MethodPackages}, 2, 100, 4008 * time.Millisecond},
		"long notes":        {guest.Message{Method: "none", Params: make([]byte, 100_000)}, 1, 1_000, 1020 * time.Millisecond},
		"a few":             {guest.Message{HasID: true, Method: guest.MethodToolCall}, 1, 500, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			var p pace
			began := time.Now()
			for range c.count {
				if err := p.keep(t.Context(), c.message, c.sessions); err != nil {
					t.Fatal(err)
				}
			}
			took := time.Since(began)
			want := c.cost*2/time.Duration(runtime.GOMAXPROCS(0)) - paceAhead
			if took < want || took > max(0, want)+10*paceRest*time.Duration(c.sessions) {
				t.Errorf("%s: it took %v, want %v", name, took, want)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		gone := errors.New("gone")
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, gone)
		defer cancel()
		p := pace{time.Now().Add(time.Hour)}
		if err := p.keep(ctx, guest.Message{Method: "none"}, 1); !errors.Is(err, gone) {
			t.Errorf("a guest that is ended waits: %v", err)
		}
	})
}
