package upstream

import (
	"context"
	"time"
)

// failures counts how often a server has failed in a row, and says when to try again: at once after the
// first failure, then 1 s, 2 s, 4 s, up to maxPause after it; at once so late where it said more than is read before it
// spoke MCP, for that takes codemode a processor, and others wait for it.
type failures struct {
	count int
	next  time.Time
	last  *StartError
}

const (
	maxPause = 30 * time.Second

	// steady is how long a server must have run for its end not to count as one of several in a row.
	steady = 30 * time.Second

	// patience is how long a caller is made to wait for the next try, if its own deadline allows; longer
	// pauses are told.
	patience = 2 * time.Second
)

func (f *failures) add(err *StartError, now time.Time) {
	f.count++
	f.last = err
	f.next = now
	switch {
	case err.Step == "initialize" && passedOver(err) > 0:
		f.next = now.Add(maxPause)
	case f.count > 1:
		f.next = now.Add(min(time.Second<<min(f.count-2, 10), maxPause))
	}
}

// lived forgets earlier failures once a server has run for a while.
func (f *failures) lived(d time.Duration) {
	if d >= steady {
		*f = failures{}
	}
}

func (f *failures) pause(now time.Time) time.Duration { return max(0, f.next.Sub(now)) }

// worthWaiting says whether a caller rather waits than gets an error.
func worthWaiting(ctx context.Context, pause time.Duration) bool {
	deadline, ok := ctx.Deadline()
	return pause <= patience && (!ok || time.Until(deadline) > pause)
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
