package bridge

import (
	"context"
	"sync"
)

// What a guest may have under way at once. Past that its channel is not read until something is
// answered, so a flood holds a bounded amount of memory and hurts only the guest that sends it.
const (
	maxCallsUnderWay = 16384
	maxBytesUnderWay = 96 << 20  // of requests as they came; one alone may be longer
	answerRoom       = 256 << 10 // bytes more, for an answer that codemode makes itself; a call's is held by backlog
)

// gate is backpressure: it limits how many requests of one guest are in flight, and their bytes. What a run may call is
// decided by admit.
type gate struct {
	changed chan struct{} // has room for one token: something left

	mu           sync.Mutex
	calls, bytes int
}

func newGate() *gate { return &gate{changed: make(chan struct{}, 1)} }

// enter waits for room. It has one caller at a time, the reader.
func (g *gate) enter(ctx context.Context, size int) error {
	for !g.tryEnter(size) {
		select {
		case <-g.changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// tryEnter says whether there was room.
func (g *gate) tryEnter(size int) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.calls > 0 && (g.calls >= maxCallsUnderWay || g.bytes+size > maxBytesUnderWay) {
		return false
	}
	g.calls++
	g.bytes += size
	return true
}

func (g *gate) leave(size int) {
	g.mu.Lock()
	g.calls--
	g.bytes -= size
	g.mu.Unlock()
	select {
	case g.changed <- struct{}{}:
	default:
	}
}
