package bridge

import (
	"sync"
	"time"
)

// clock is a run's deadline, which stands still while its user is asked.
type clock struct {
	timer *time.Timer // nil where there is no deadline

	mu      sync.Mutex
	ends    time.Time
	left    time.Duration // while it stands still
	holds   int
	since   time.Time     // when it was held
	held    time.Duration // altogether
	stopped bool
}

func newClock(limit time.Duration) *clock {
	c := &clock{}
	if limit > 0 {
		c.timer, c.ends = time.NewTimer(limit), time.Now().Add(limit)
	}
	return c
}

// over tells when the time is up; nil, which never does, where there is no deadline.
func (c *clock) over() <-chan time.Time {
	if c.timer == nil {
		return nil
	}
	return c.timer.C
}

// hold makes it stand still until as many releases. It reports false when the run is being stopped.
func (c *clock) hold() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped {
		return false
	}
	if c.holds++; c.holds > 1 {
		return true
	}
	c.since = time.Now()
	if c.timer != nil {
		c.timer.Stop() // of which no time is left to be received (package time, since Go 1.23)
		c.left = max(0, time.Until(c.ends))
	}
	return true
}

func (c *clock) release() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.holds--; c.holds > 0 {
		return
	}
	c.held += time.Since(c.since)
	if c.timer != nil && !c.stopped {
		c.ends = time.Now().Add(c.left)
		c.timer.Reset(c.left)
	}
}

// stop ends it. Nobody holds it any more.
func (c *clock) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopped = true
	if c.timer != nil {
		c.timer.Stop()
	}
}

// asked is how long it stood still.
func (c *clock) asked() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.holds > 0 {
		return c.held + time.Since(c.since)
	}
	return c.held
}
