package bridge

import (
	"sync"
	"time"
)

const (
	callsBefore = 16                    // one after the other, before anything is measured
	callsTimed  = 64                    // together, in each way
	callsUntil  = 8                     // until what is bound has moved
	callsKept   = 2048                  // until it is measured again
	mostMisses  = 2                     // times that they were not much quicker; then it is not tried again
	longestGap  = 10 * time.Millisecond // from one call to the next
)

// placement has codemode and a guest share a processor while a run makes one call after the other: they take turns
// then, and waking an idle processor takes longer than much of what is done there. Some calls are timed without that,
// and all with it, and it stays only as long as they are much quicker: who is bound is not moved when a processor
// becomes busy with something else.
type placement struct {
	share func() (release func(), err error) // nil where that cannot be

	mu      sync.Mutex
	calls   int           // in a row
	began   time.Time     // the first of those that are timed
	free    time.Duration // what they took on any processor
	last    time.Time     // when the last call began
	release func()        // nil while nothing is shared
	misses  int
}

// call says that a call begins, and whether nothing else goes on.
func (p *placement) call(alone bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.share == nil || p.misses == mostMisses {
		return
	}
	now := time.Now()
	if !alone || now.Sub(p.last) > longestGap {
		p.stop()
	}
	p.last = now
	p.calls++
	bound := p.calls - callsBefore - callsTimed
	switch {
	case p.calls == callsBefore, bound == callsUntil:
		p.began = now
	case bound == 0:
		p.free = now.Sub(p.began)
		p.bind()
	case bound > callsKept:
		p.stop()
	case bound > 0 && bound%callsTimed == callsUntil:
		if now.Sub(p.began) > p.free*19/20 { // less is chance as often as not
			p.misses++
			p.stop()
		}
		p.began = now
	}
}

// bind has a processor shared. The caller holds p.mu.
func (p *placement) bind() {
	var err error
	if p.release, err = p.share(); err != nil {
		p.misses = mostMisses
		return
	}
	time.AfterFunc(longestGap, p.look)
}

// look ends what is shared when no call has come for a while: the guest may have something to compute.
func (p *placement) look() {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.release == nil:
	case time.Since(p.last) > longestGap:
		p.stop()
	default:
		time.AfterFunc(longestGap, p.look)
	}
}

// stop begins anew. The caller holds p.mu.
func (p *placement) stop() {
	p.calls = 0
	if p.release != nil {
		p.release()
		p.release = nil
	}
}

// end says that the run is over.
func (p *placement) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.misses = mostMisses
	p.stop()
}
