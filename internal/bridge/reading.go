package bridge

import (
	"context"
	"fmt"
	"maps"
	"math"
	"runtime/debug"
	"slices"
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
// whose message has no room leaves it with its guest. Others do not keep it waiting for good: whoever has held room
// for too long while it waits loses that, the oldest first, one at each look.
const (
	largeBudget = 3 * maxMessage
	longestLine = 5 * time.Second // from the beginning of a large message until it is whole
	longestHeld = time.Minute     // from then on
)

// readings are the large messages of all sessions.
type readings struct {
	runs  *fair.Queue // of all sessions: it has room for any number, and tells who else has some
	turns *fair.Queue // has room for the budget

	mu    sync.Mutex
	rests map[string]time.Time // until when nothing large of a session's is read
	held  []*largeMessage      // the oldest first
	freed int                  // bytes of messages that have gone since memory was given back
}

func newReadings() *readings {
	return &readings{
		runs: fair.New(math.MaxInt, math.MaxInt), turns: fair.New(largeBudget, 0), rests: map[string]time.Time{},
	}
}

// largeMessage is one that holds a part of the budget. A nil one, which stands for a small message, holds none.
type largeMessage struct {
	readings *readings
	session  string
	turn     *fair.Turn

	// These are readings.mu's.
	size  int         // 0 until it is whole
	until time.Time   // when others can have it ended
	end   func(error) // which is nil while that cannot be
}

// begin waits until a large message of a session's may be read on. The caller calls leave when it returned no error;
// end is called, at most once, if it is not whole in time.
func (r *readings) begin(ctx context.Context, session string, end func(error)) (*largeMessage, error) {
	r.wait(ctx, session)
	turn := r.turns.Join(session, maxMessage)
	for {
		look, cancel := context.WithTimeout(ctx, readingLook)
		err := turn.Wait(look)
		cancel()
		if err == nil {
			break
		}
		if ctx.Err() != nil {
			turn.Leave()
			return nil, context.Cause(ctx)
		}
		r.endOldest(session)
	}
	m := &largeMessage{readings: r, session: session, turn: turn, until: time.Now().Add(longestLine), end: end}
	r.mu.Lock()
	r.held = append(r.held, m)
	r.mu.Unlock()
	return m, nil
}

// endOldest ends what has held room for too long, in the place of a session that has none.
func (r *readings) endOldest(session string) {
	r.mu.Lock()
	var oldest *largeMessage
	var end func(error)
	for _, m := range r.held {
		if m.session == session { // it waits for itself
			r.mu.Unlock()
			return
		}
		if oldest == nil && m.end != nil && !time.Now().Before(m.until) {
			oldest = m
		}
	}
	if oldest == nil {
		r.mu.Unlock()
		return
	}
	end, oldest.end = oldest.end, nil
	err := fmt.Errorf("a message of %d bytes was worked on for more than %v while other sessions waited to send "+
		"large ones; its call was cancelled", oldest.size, longestHeld)
	if oldest.size == 0 {
		err = fmt.Errorf("%w: a line of more than %d bytes had not ended after %v, while other sessions waited "+
			"to send theirs", guest.ErrProtocol, largeCall, longestLine)
	}
	r.mu.Unlock()
	end(err)
}

// whole says that a message has been read to its end: it cannot be ended until it is worked on.
func (m *largeMessage) whole(size int) {
	if m == nil {
		return
	}
	m.readings.mu.Lock()
	m.size, m.end = size, nil
	m.readings.mu.Unlock()
	m.turn.Lighten(size)
}

// workedOn says how that is ended.
func (m *largeMessage) workedOn(end func(error)) {
	if m == nil {
		return
	}
	m.readings.mu.Lock()
	m.until, m.end = time.Now().Add(longestHeld), end
	m.readings.mu.Unlock()
}

// leave says that nothing holds a message any more.
func (m *largeMessage) leave() {
	if m == nil {
		return
	}
	r := m.readings
	r.mu.Lock()
	r.held = slices.DeleteFunc(r.held, func(o *largeMessage) bool { return o == m })
	if r.freed += m.size; m.size == 0 {
		r.freed += maxMessage
	}
	r.mu.Unlock()
	m.turn.Leave()
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
func (r *readings) wait(ctx context.Context, session string) {
	for {
		r.mu.Lock()
		rest := time.Until(r.rests[session])
		r.mu.Unlock()
		if rest <= 0 || !r.runs.Crowded(session) {
			return
		}
		select {
		case <-time.After(min(rest, readingLook)):
		case <-ctx.Done():
			return
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
