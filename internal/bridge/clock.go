package bridge

import (
	"sync"
	"time"
)

const (
	// clockTick is how often a clock that stands still looks whether anything of its run goes on.
	clockTick = 250 * time.Millisecond
	// unseenPause is how long a clock stands still in a run whose sandbox cannot tell what processor time it has used.
	unseenPause = time.Minute

	unseen time.Duration = -1
)

// clock is a run's deadline. While its user is asked it stands still, but for what the run goes on to do meanwhile: the
// processor time of its sandbox and the time with calls of tools under way, whichever is more. Altogether it stands still no
// longer than pause.
type clock struct {
	pause time.Duration
	used  []func() time.Duration // what the run has used so far, by each measure; or unseen

	mu      sync.Mutex
	up      chan struct{} // closed when the time is up; nil where there is no deadline
	timer   *time.Timer
	left    time.Duration
	since   time.Time // when the rest was counted last
	before  []time.Duration
	holds   int
	held    time.Duration // that its user was asked, altogether
	still   time.Duration // of it, that it stood still
	stopped bool
}

func newClock(limit, pause time.Duration, used ...func() time.Duration) *clock {
	c := &clock{pause: pause, used: used, before: make([]time.Duration, len(used)), since: time.Now()}
	if limit > 0 {
		c.up, c.left = make(chan struct{}), limit
		c.timer = time.AfterFunc(limit, c.tick)
	}
	return c
}

// over tells when the time is up; nil, which never does, where there is no deadline.
func (c *clock) over() <-chan struct{} { return c.up }

// measure asks what the run has used. It reads files, so nobody may hold c.mu.
func (c *clock) measure() []time.Duration {
	now := make([]time.Duration, len(c.used))
	for i, used := range c.used {
		now[i] = used()
	}
	return now
}

// count brings everything up to date. It is called with c.mu held.
func (c *clock) count(used []time.Duration) {
	now := time.Now()
	passed, ran := now.Sub(c.since), time.Duration(0)
	c.since = now
	for i, u := range used {
		if u == unseen {
			c.pause = min(c.pause, unseenPause)
		}
		ran = max(ran, u-c.before[i])
		c.before[i] = max(c.before[i], u)
	}
	if c.holds > 0 {
		c.held += passed
		still := min(max(0, passed-ran), c.pause-c.still)
		c.still += still
		passed -= still
	}
	c.left -= passed
}

// set has the timer fire when there is something to count. It is called with c.mu held.
func (c *clock) set() {
	switch {
	case c.timer == nil || c.stopped:
	case c.holds > 0:
		c.timer.Reset(min(max(0, c.left), clockTick))
	default:
		c.timer.Reset(max(0, c.left))
	}
}

func (c *clock) tick() {
	used := c.measure()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped {
		return
	}
	if c.count(used); c.left > 0 {
		c.set()
		return
	}
	c.stopped = true
	close(c.up)
}

// hold makes it stand still until as many releases. It reports false when the run is being stopped.
func (c *clock) hold() bool {
	used := c.measure()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped {
		return false
	}
	c.count(used)
	c.holds++
	c.set()
	return true
}

func (c *clock) release() {
	used := c.measure()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.count(used)
	c.holds--
	c.set()
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

// asked is how long its user was asked.
func (c *clock) asked() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.holds > 0 {
		return c.held + time.Since(c.since)
	}
	return c.held
}
