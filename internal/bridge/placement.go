package bridge

import (
	"sync"
	"time"
)

const (
	callsBefore = 16                    // one after the other, before anything is measured
	callsTimed  = 64                    // together, in each way
	callsUntil  = 8                     // in a way, before they are timed
	callsKept   = 2048                  // until all is measured again
	mostMisses  = 2                     // times that a way was not much quicker; then it is not tried again
	longestGap  = 10 * time.Millisecond // from one call to the next
)

// A way is who shares a processor. They are tried in this order.
type way int

const (
	free       way = iota // nobody
	withGuest             // codemode and the guest
	withServer            // and the server that all calls go to
	ways
)

// placement has codemode and a guest, and with them a server, share a processor while a run makes one call after the
// other: they take turns then, and waking an idle processor takes longer than much of what is done there. What is
// quickest depends on the machine and the server, so calls are timed in each way, and one stays only as long as they
// are much quicker than in the best before it: who is bound is not moved when a processor becomes busy with something
// else.
type placement struct {
	share func(others ...int) (release func(), err error) // nil where that cannot be
	now   func() time.Time

	mu     sync.Mutex
	way    way       // that is wanted
	calls  int       // in a row, since it is there
	began  time.Time // the first of those that are timed
	last   time.Time // when the last request began
	misses [ways]int
	limit  [ways]time.Duration // what is not much quicker takes more
	best   way                 // of those that were tried
	took   time.Duration       // calls in it
	stays  bool                // all were tried, and it is the best

	server int  // process of the server that the last call went to; 0 is none that is to be bound
	one    bool // all calls that were timed went there
	went   bool // the last request was one to a server

	placed  way    // that there is
	release func() // nil while nothing is shared
	moving  bool
	moves   sync.WaitGroup
	looking bool
}

// call says that a request begins, and whether nothing else goes on.
func (p *placement) call(alone bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.share == nil || min(p.misses[withGuest], p.misses[withServer]) >= mostMisses {
		return
	}
	now := p.now()
	if !alone || now.Sub(p.last) > longestGap {
		p.stop()
	}
	if !p.went {
		p.goes(0)
	}
	p.last, p.went = now, false
	if p.moving {
		return
	}
	p.calls++
	n := p.calls - callsUntil
	if p.way == free {
		n = p.calls - callsBefore
	}
	switch {
	case n == 0:
		p.began = now
		p.one = p.one || p.way == free
	case n > callsKept:
		p.stop()
	case n > 0 && (n%callsTimed == 0 || p.way != free && now.Sub(p.began) > p.limit[p.way]):
		p.judge(now.Sub(p.began))
		p.began = now
	}
}

// to says where the request goes: to a server below this process, or 0 for one that is not to be bound.
func (p *placement) to(server int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.went = true
	p.goes(server)
}

// goes notes where a request goes. The caller holds p.mu.
func (p *placement) goes(server int) {
	if server == p.server {
		return
	}
	if p.way == withServer {
		p.stop()
	}
	p.server, p.one = server, false
}

// judge says whether the way stays in which calls have taken so long. The caller holds p.mu.
func (p *placement) judge(took time.Duration) {
	switch quicker := p.way == free || took <= p.limit[p.way]; {
	case !quicker:
		p.misses[p.way]++
		if p.stays {
			p.stop()
			return
		}
	case p.stays:
		return
	default:
		p.best, p.took = p.way, took
	}
	p.next()
}

// next tries the next way; behind the last one it is the best that stays. The caller holds p.mu.
func (p *placement) next() {
	for w := p.way + 1; w < ways; w++ {
		if p.misses[w] < mostMisses && (w != withServer || p.one && p.server != 0) {
			p.limit[w] = p.took * 19 / 20 // less is chance as often as not
			p.take(w)
			return
		}
	}
	p.stays = p.best != free
	if p.way != p.best || p.best == free {
		p.take(p.best)
	}
}

// take begins with a way. The caller holds p.mu.
func (p *placement) take(w way) {
	p.way, p.calls = w, 0
	if w != p.placed && !p.moving {
		p.moving = true
		p.moves.Go(p.move)
	}
	if w != free && !p.looking {
		p.looking = true
		time.AfterFunc(longestGap, p.look)
	}
}

// move brings about the way that is wanted. No call waits for it: whom to move is looked for in /proc.
func (p *placement) move() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.placed != p.way {
		w, release, others := p.way, p.release, []int(nil)
		if w == withServer {
			others = []int{p.server}
		}
		p.mu.Unlock()
		if release != nil {
			release()
			release = nil
		}
		var err error
		if w != free {
			release, err = p.share(others...)
		}
		p.mu.Lock()
		if p.release, p.placed = release, w; err != nil {
			p.fails(w)
		}
	}
	p.moving = false
}

// fails notes that a way cannot be taken, nor those behind it that begin with it. The caller holds p.mu.
func (p *placement) fails(w way) {
	p.placed = free
	p.misses[w], p.misses[withServer] = mostMisses, mostMisses
	if p.way == w {
		p.next()
	}
}

// look ends what is shared when no call has come for a while: the guest may have something to compute.
func (p *placement) look() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.way != free && p.now().Sub(p.last) > longestGap {
		p.stop()
	}
	if p.looking = p.way != free; p.looking {
		time.AfterFunc(longestGap, p.look)
	}
}

// stop begins anew. The caller holds p.mu.
func (p *placement) stop() {
	p.stays = false
	p.take(free)
}

// end says that the run is over. When it returns, all have what they had before.
func (p *placement) end() {
	p.mu.Lock()
	p.misses = [ways]int{mostMisses, mostMisses, mostMisses}
	p.stop()
	p.mu.Unlock()
	p.moves.Wait()
}
