package bridge

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"runtime/debug"
	"sync"
	"time"

	"codemode/internal/fair"
	"codemode/internal/guest"
)

// What a session has codemode read is read by the processors that all sessions share, and the guest keeps one busy with
// making it. Whoever had a large message read waits, before the next, for so many times as long as that took, while
// other sessions have runs: of those, few meet one.
const (
	readingRests       = 60
	longestReadingRest = 20 * time.Second
	readingLook        = time.Second // the others may be gone by then
)

// What large messages hold of memory is one budget, in bytes, of all sessions. How long one is shows at its end, so
// that until then it counts as the largest; from then on as what it has, until what it asks for is done. A session
// whose message has no room leaves it with its guest.
const (
	largeBudget = 3 * maxMessage
	longestLine = 5 * time.Second // from the beginning of a large message until it is whole
	longestHeld = time.Minute     // from then on
)

// readings are the large messages of all sessions.
type readings struct {
	runs   *fair.Queue // of all sessions: it has room for any number, and tells who else has some
	budget *fair.Budget

	mu    sync.Mutex
	rests map[string]time.Time // until when nothing large of a session's is read
	freed int                  // bytes of messages and images that have gone since memory was given back
}

func newReadings() *readings {
	return &readings{
		runs: fair.New(math.MaxInt, math.MaxInt), budget: fair.NewBudget(largeBudget), rests: map[string]time.Time{},
	}
}

// largeMessage is one that holds a part of the budget. A nil one, which stands for a small message, holds none.
type largeMessage struct {
	readings *readings
	share    *fair.Share
	size     int // 0 until it is whole
}

// begin waits until a large message of a session's may be read on. The caller calls leave when it returned no error;
// end is called, at most once, if it is not whole in time.
func (r *readings) begin(ctx context.Context, session string, end func(error)) (*largeMessage, error) {
	if err := r.wait(ctx, session); err != nil {
		return nil, err
	}
	share, err := r.budget.Take(ctx, session, maxMessage)
	if err != nil {
		return nil, err
	}
	share.Limit(fair.Limit{Longest: longestLine}, func() {
		end(fmt.Errorf("%w: a line of more than %d bytes had not ended after %v, while other sessions waited "+
			"to send theirs", guest.ErrProtocol, largeCall, longestLine))
	})
	return &largeMessage{readings: r, share: share}, nil
}

// whole says that a message has been read to its end: it cannot be ended until it is worked on.
func (m *largeMessage) whole(size int) {
	if m == nil {
		return
	}
	m.size = size
	m.share.Limit(fair.Limit{}, nil)
	m.share.Lighten(size)
}

// workedOn says how that is ended.
func (m *largeMessage) workedOn(end func(error)) {
	if m == nil {
		return
	}
	m.share.Limit(fair.Limit{Longest: longestHeld}, func() {
		end(fmt.Errorf("a message of %d bytes was worked on for more than %v while other sessions waited to send "+
			"large ones; its call was cancelled", m.size, longestHeld))
	})
}

// leave says that nothing holds a message any more.
func (m *largeMessage) leave() {
	if m == nil {
		return
	}
	m.readings.discard(cmp.Or(m.size, maxMessage))
	m.share.Leave()
}

// discard notes that nothing holds so many bytes any more.
func (r *readings) discard(size int) {
	r.mu.Lock()
	r.freed += size
	r.mu.Unlock()
}

// tidy gives memory back to the system, where much has been freed: the collector would leave it for minutes.
func (r *readings) tidy() {
	r.mu.Lock()
	much := r.freed >= maxMessage/2
	if much {
		r.freed = 0
	}
	r.mu.Unlock()
	if much {
		debug.FreeOSMemory()
	}
}

// wait waits until a large message of a session's may be read, or until the context ends.
func (r *readings) wait(ctx context.Context, session string) error {
	for {
		r.mu.Lock()
		rest := time.Until(r.rests[session])
		r.mu.Unlock()
		if rest <= 0 || !r.runs.Crowded(session) {
			return nil
		}
		select {
		case <-time.After(min(rest, readingLook)):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// took says how long codemode was busy with a large message of a session's.
func (r *readings) took(session string, took time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.DeleteFunc(r.rests, func(_ string, until time.Time) bool { return time.Until(until) <= 0 })
	until := r.rests[session]
	if now := time.Now(); until.Before(now) {
		until = now
	}
	latest := time.Now().Add(longestReadingRest)
	if until = until.Add(readingRests * took); until.After(latest) {
		until = latest
	}
	r.rests[session] = until
}
