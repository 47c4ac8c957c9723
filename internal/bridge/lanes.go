package bridge

import (
	"context"
	"sync"
	"time"

	"codemode/internal/fair"
)

// What one server is given at once. Sessions share it, and mostly it does one thing after the other: what it has been
// given, all others wait for.
const (
	callsUnderWay = 256      // of all sessions
	callsBeside   = 16       // of one session while others use the server
	pieceOfCall   = 64 << 10 // bytes of arguments that count as one call more
	largeCall     = 1 << 20  // bytes of arguments from which on there is one such call at a time

	// How long a server is left to others: after a large call, as long as that took, but no longer than this; after
	// a call that was cancelled, which it may still be busy with, this long.
	longestRest = 2 * time.Second
	cancelRest  = time.Second
)

// lanes are the ways to one server, which sessions take in turns.
type lanes struct {
	calls  *fair.Queue // weighed by their arguments
	large  *fair.Queue // before the other
	policy *fair.Queue // policy.concurrency; nil where there is none

	mu    sync.Mutex
	rests map[*time.Timer]struct{} // turns that last longer than their calls; nil once it is closed
}

func newLanes(concurrency int) *lanes {
	l := &lanes{
		calls: fair.New(callsUnderWay, callsBeside), large: fair.New(1, 0),
		rests: map[*time.Timer]struct{}{},
	}
	if concurrency > 0 {
		l.policy = fair.New(concurrency, 0)
	}
	return l
}

// enter waits until the server may be given a call of a session. The caller calls leave when it returned no error.
func (l *lanes) enter(ctx context.Context, session string, size int) (leave func(), err error) {
	large, policy := func() {}, func() {}
	began := time.Now()
	if size >= largeCall {
		if large, err = l.large.Enter(ctx, session, 1); err != nil {
			return nil, err
		}
		began = time.Now()
	}
	calls, err := l.calls.Enter(ctx, session, 1+size/pieceOfCall)
	if err != nil {
		large()
		return nil, err
	}
	if l.policy != nil {
		if policy, err = l.policy.Enter(ctx, session, 1); err != nil {
			calls()
			large()
			return nil, err
		}
	}
	return func() {
		if l.policy != nil && ctx.Err() != nil {
			l.later(cancelRest, policy)
		} else {
			policy()
		}
		if !l.calls.Crowded(session) {
			calls()
			large()
			return
		}
		if size >= largeCall {
			l.later(min(time.Since(began), longestRest), large)
		}
		if ctx.Err() != nil {
			l.later(cancelRest, calls)
		} else {
			calls()
		}
	}, nil
}

// later leaves a turn after a rest.
func (l *lanes) later(rest time.Duration, leave func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.rests == nil {
		return
	}
	var timer *time.Timer
	timer = time.AfterFunc(rest, func() {
		l.mu.Lock()
		delete(l.rests, timer)
		l.mu.Unlock()
		leave()
	})
	l.rests[timer] = struct{}{}
}

// close ends the rests, when nobody uses the server any more.
func (l *lanes) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for timer := range l.rests {
		timer.Stop()
	}
	l.rests = nil
}
