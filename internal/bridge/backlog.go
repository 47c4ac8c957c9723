package bridge

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
)

// What the host does for one guest at once, and what it holds of the answers. Requests past that wait without
// having cost anything but themselves.
const (
	maxAtWork     = 256       // requests worked on side by side, from their start until their answer is written
	maxDescribing = 4         // of them, those whose answer the host makes itself, until it is written
	softBacklog   = 128 << 20 // bytes of answers, with those expected: no request begins beyond
	hardBacklog   = 192 << 20 // bytes of answers: one that comes beyond is dropped
	maxExpected   = 4 << 20   // bytes expected of an answer: those under way must not shut out all others

	largeBacklog = 1 << 20 // bytes of answers that make a guest a slow reader
	smallestPart = 16      // of what one guest alone may have, one of many has at least the sixteenth part
)

// slowReaders counts the guests that have many bytes of answers to read. What one alone may have is parted among them,
// so that with many it is not many times as much; what a guest has already it keeps.
type slowReaders struct{ guests atomic.Int64 }

// backlog is the bytes of the answers that a guest has not read yet, and of those that are made.
//
// An answer's size is known when it is there, so a request reserves what the ones before it needed. Servers are
// shared: their answers to a guest that does not read are dropped, for holding them back would hold up all guests.
type backlog struct {
	slowReaders *slowReaders
	describing  chan struct{}

	mu       sync.Mutex
	large    bool          // it is one of slowReaders
	bytes    int           // of answers held, or else reserved
	held     int           // of answers held
	expected int           // of the next answer
	room     chan struct{} // closed, and replaced, when bytes have become fewer
}

func newBacklog(c *slowReaders) *backlog {
	return &backlog{
		slowReaders: c,
		describing:  make(chan struct{}, maxDescribing),
		room:        make(chan struct{}),
	}
}

// task is one request that is worked on. It belongs to one goroutine.
type task struct {
	backlog    *backlog
	bytes      int // its part of the backlog's
	held       int
	describing bool
	recording  *run // whose log has a line to be written when the answer is; code goes on meanwhile
}

// begin waits until a request may be worked on. The caller calls end when it returned no error.
func (b *backlog) begin(ctx context.Context) (*task, error) {
	if ctx.Err() != nil { // it was cancelled while it waited for its turn
		return nil, context.Cause(ctx)
	}
	t := &task{backlog: b}
	for {
		room := t.reserve()
		if room == nil {
			return t, nil
		}
		select {
		case <-room:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// reserve takes what an answer is expected to need. Where there is no room it returns what is closed when there
// may be.
func (t *task) reserve() <-chan struct{} {
	b := t.backlog
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.bytes > 0 && b.bytes+b.expected > b.part(softBacklog) {
		return b.room
	}
	t.bytes = b.expected
	b.add(t.bytes)
	return nil
}

// hold accounts for an answer that has come. With an error it must be dropped.
func (t *task) hold(size int) error {
	b := t.backlog
	b.mu.Lock()
	defer b.mu.Unlock()
	b.expected = min(max(size, b.expected-b.expected/8), maxExpected)
	if b.held > 0 && b.held+size > b.part(hardBacklog) {
		return fmt.Errorf(
			"an answer of %d bytes was dropped: %d bytes of answers wait to be read; make fewer calls at once", size,
			b.held,
		)
	}
	b.add(size - t.bytes)
	b.held += size - t.held
	t.bytes, t.held = size, size
	b.widen()
	return nil
}

// describe waits until the host may make an answer of its own.
func (t *task) describe(ctx context.Context) error {
	if t.describing {
		return nil
	}
	select {
	case t.backlog.describing <- struct{}{}:
		t.describing = true
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// end says that the answer has been written.
func (t *task) end() {
	b := t.backlog
	if t.describing {
		<-b.describing
	}
	b.mu.Lock()
	b.add(-t.bytes)
	b.held -= t.held
	b.widen()
	b.mu.Unlock()
}

// add changes how many bytes of answers there are. b.mu is held.
func (b *backlog) add(bytes int) {
	b.bytes += bytes
	switch large := b.bytes >= largeBacklog; {
	case large == b.large:
		return
	case large:
		b.slowReaders.guests.Add(1)
	default:
		b.slowReaders.guests.Add(-1)
	}
	b.large = !b.large
}

// part is what this guest may have of what it could alone. b.mu is held.
func (b *backlog) part(whole int) int {
	guests := b.slowReaders.guests.Load()
	if !b.large {
		guests++
	}
	return max(whole/int(guests), whole/smallestPart)
}

// widen wakes those who wait for room. b.mu is held.
func (b *backlog) widen() {
	close(b.room)
	b.room = make(chan struct{})
}
