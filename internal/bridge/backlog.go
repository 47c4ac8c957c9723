package bridge

import (
	"context"
	"fmt"
	"sync"
)

// What the host does for one guest at once, and what it holds of the answers. Requests past that wait without
// having cost anything but themselves.
const (
	maxAtWork     = 256       // requests worked on, from their start until their answer is written
	maxDescribing = 4         // of them, those whose answer the host makes itself, of all of a server's tools
	softBacklog   = 128 << 20 // bytes of answers, with those expected: no request begins beyond
	hardBacklog   = 192 << 20 // bytes of answers: one that comes beyond is dropped
	maxExpected   = 4 << 20   // bytes expected of an answer: those under way must not shut out all others
)

// backlog is the work for one guest, and the bytes of the answers that it has not read yet.
//
// An answer's size is known when it is there, so a request reserves what the ones before it needed. Servers are
// shared: their answers to a guest that does not read are dropped, for holding them back would hold up all guests.
type backlog struct {
	atWork     chan struct{}
	describing chan struct{}

	mu       sync.Mutex
	bytes    int           // of answers held, or else reserved
	held     int           // of answers held
	expected int           // of the next answer
	room     chan struct{} // closed, and replaced, when bytes have become fewer
}

func newBacklog() *backlog {
	return &backlog{
		atWork:     make(chan struct{}, maxAtWork),
		describing: make(chan struct{}, maxDescribing),
		room:       make(chan struct{}),
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
	select {
	case b.atWork <- struct{}{}:
	case <-ctx.Done():
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
			<-b.atWork
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
	if b.bytes > 0 && b.bytes+b.expected > softBacklog {
		return b.room
	}
	t.bytes = b.expected
	b.bytes += t.bytes
	return nil
}

// hold accounts for an answer that has come. With an error it must be dropped.
func (t *task) hold(size int) error {
	b := t.backlog
	b.mu.Lock()
	defer b.mu.Unlock()
	b.expected = min(max(size, b.expected-b.expected/8), maxExpected)
	if b.held > 0 && b.held+size > hardBacklog {
		return fmt.Errorf(
			"an answer of %d bytes was dropped: %d bytes of answers wait to be read; make fewer calls at once", size,
			b.held,
		)
	}
	b.bytes += size - t.bytes
	b.held += size - t.held
	t.bytes, t.held = size, size
	b.widen()
	return nil
}

// describe waits until the host may make an answer of its own.
func (t *task) describe(ctx context.Context) error {
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
	b.bytes -= t.bytes
	b.held -= t.held
	b.widen()
	b.mu.Unlock()
	<-b.atWork
}

// widen wakes those who wait for room. b.mu is held.
func (b *backlog) widen() {
	close(b.room)
	b.room = make(chan struct{})
}
