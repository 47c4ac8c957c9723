package bridge

import (
	"math/rand/v2"
	"sync"
	"time"
)

const (
	// clockTick is how often, on average, a clock that stands still looks whether anything of its run goes on. The
	// guest must not know when: see sandbox.Sandbox.CPU.
	clockTick = 250 * time.Millisecond
	// unseenPause is how long a clock stands still in a run whose sandbox cannot tell what processor time it has used.
	unseenPause = time.Minute

	unseen time.Duration = -1
)

// clock is a run's deadline. While its user is asked, or a server starts that it needs, it stands still, but for what
// the run goes on to do meanwhile: the processor time of its sandbox and the time with calls of tools under way,
// whichever is more. For either reason it stands still no longer than that may pause.
type clock struct {
	used []func() time.Duration // what the run has used so far, by each measure; or unseen

	mu      sync.Mutex
	up      chan struct{} // closed when the time is up; nil where there is no deadline
	timer   *time.Timer
	left    time.Duration
	since   time.Time // when the rest was counted last
	before  []time.Duration
	asks    pause
	starts  pause
	waited  map[string]bool // servers whose start it has stood still for
	stopped bool
}

// pause is a reason for which a clock stands still.
type pause struct {
	limit time.Duration // of still
	holds int
	held  time.Duration // altogether
	still time.Duration // of it, that the clock stood still
}

func newClock(limit, asks time.Duration, used ...func() time.Duration) *clock {
	c := &clock{
		asks: pause{limit: asks}, waited: map[string]bool{}, used: used, before: make([]time.Duration, len(used)),
		since: time.Now(),
	}
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
			c.asks.limit, c.starts.limit = min(c.asks.limit, unseenPause), min(c.starts.limit, unseenPause)
		}
		ran = max(ran, u-c.before[i])
		c.before[i] = max(c.before[i], u)
	}
	if p := c.why(); p != nil {
		p.held += passed
		still := max(0, min(passed-ran, p.limit-p.still))
		p.still += still
		passed -= still
	}
	c.left -= passed
}

// why is the reason for which it stands still, nil where there is none.
func (c *clock) why() *pause {
	switch {
	case c.asks.holds > 0:
		return &c.asks
	case c.starts.holds > 0:
		return &c.starts
	}
	return nil
}

// set has the timer fire when there is something to count. It is called with c.mu held.
func (c *clock) set() {
	switch {
	case c.timer == nil || c.stopped:
	case c.why() != nil:
		c.timer.Reset(min(max(0, c.left), clockTick/2+rand.N(clockTick)))
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

// hold makes it stand still while its user is asked, until as many releases. It reports false when the run is being
// stopped.
func (c *clock) hold() bool { return c.change(func() { c.asks.holds++ }) }

func (c *clock) release() { c.change(func() { c.asks.holds-- }) }

// holdStart makes it stand still until released while a server starts, which may take as long as limit, once in a run.
func (c *clock) holdStart(server string, limit time.Duration) (release func()) {
	held := c.change(func() {
		c.starts.holds++
		if !c.waited[server] {
			c.waited[server] = true
			c.starts.limit += limit
		}
	})
	if !held {
		return func() {}
	}
	return func() { c.change(func() { c.starts.holds-- }) }
}

// change counts, and has what it stands still for change. Of a clock that has stopped nothing changes any more.
func (c *clock) change(f func()) bool {
	used := c.measure()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped {
		return false
	}
	c.count(used)
	f()
	c.set()
	return true
}

// stop ends it. Nobody holds it any more.
func (c *clock) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p := c.why(); p != nil && !c.stopped {
		p.held += time.Since(c.since)
	}
	c.stopped = true
	if c.timer != nil {
		c.timer.Stop()
	}
}

// paused is how long its user was asked, and how long servers started meanwhile that it stood still for.
func (c *clock) paused() (asked, starting time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	asked, starting = c.asks.held, c.starts.held
	switch p := c.why(); {
	case p == nil || c.stopped:
	case p == &c.asks:
		asked += time.Since(c.since)
	default:
		starting += time.Since(c.since)
	}
	return asked, starting
}
