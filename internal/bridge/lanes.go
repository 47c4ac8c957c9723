package bridge

import (
	"context"
	"fmt"
	"maps"
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

	// Whoever sent a large call sends no other for so many times as long as it took, while others use the server: of
	// their calls, few come while it is busy with one.
	ownRests       = 30
	longestOwnRest = 30 * time.Second

	// What keeps a server busy for longest waits until no other session has used it for a moment, and is refused where
	// none comes: no rest behind such a call gives back what others have waited for it.
	hugeCall     = 4 << 20 // bytes of arguments
	moment       = 2 * time.Second
	longestQuiet = 15 * time.Second // that a call waits for the moment: less than the usual run.timeout
	quietLook    = 100 * time.Millisecond
)

// crowdedError is why a huge call was not sent.
type crowdedError struct{ size int }

func (e *crowdedError) Error() string {
	return fmt.Sprintf("not sent: with %d bytes of arguments this call would keep other sessions waiting, and they have "+
		"used the server for all of the last %v; send less than %d bytes at once, or call again later",
		e.size, longestQuiet, hugeCall)
}

// lanes are the ways to one server, which sessions take in turns.
type lanes struct {
	calls  *fair.Queue // weighed by their arguments
	large  *fair.Queue // before the other
	policy *fair.Queue // policy.concurrency; nil where there is none

	mu        sync.Mutex
	rests     map[*time.Timer]struct{}   // turns that last longer than their calls; nil once it is closed
	own       map[string]time.Time       // until when a session sends no large call
	users     map[*answers]use           // that its questions may be about
	sent      int                        // calls so far
	only      *string                    // the session that all of them are of, if there was one
	shared    bool                       // there were several
	cancelled map[string]*cancelledCalls // of each session that has some
}

func newLanes(concurrency int) *lanes {
	l := &lanes{
		calls: fair.New(callsUnderWay, callsBeside), large: fair.New(1, 0),
		rests: map[*time.Timer]struct{}{}, own: map[string]time.Time{},
		users: map[*answers]use{}, cancelled: map[string]*cancelledCalls{},
	}
	if concurrency > 0 {
		l.policy = fair.New(concurrency, 0)
	}
	return l
}

// enter waits until the server may be given a call of a session. The caller calls leave when it returned no error.
func (l *lanes) enter(ctx context.Context, session string, size int) (leave func(), err error) {
	leaveProbe, err := l.enterProbe(ctx, session)
	if err != nil {
		return nil, err
	}
	leaveRoom, err := l.enterRoom(ctx, session, size)
	if err != nil {
		if leaveProbe != nil {
			leaveProbe()
		}
		return nil, err
	}
	sent := l.number()
	l.usedBy(session)
	return func() {
		leaveRoom()
		l.ended(session, sent, ctx.Err() != nil, leaveProbe)
	}, nil
}

// usedBy notes whose call the server is given.
func (l *lanes) usedBy(session string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.shared = l.shared || l.only != nil && *l.only != session
	l.only = &session
}

// isShared says whether several sessions have used the server. It stays so: the last lines that its
// processes wrote are kept.
func (l *lanes) isShared() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.shared
}

// enterRoom is enter for one more call of that size, whatever became of those before it.
func (l *lanes) enterRoom(ctx context.Context, session string, size int) (leave func(), err error) {
	large, policy := func() {}, func() {}
	began := time.Now()
	if size >= largeCall {
		if large, err = l.enterLarge(ctx, session, size); err != nil {
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
			took := time.Since(began)
			if ctx.Err() != nil {
				took = max(took, cancelRest)
			}
			l.restOwn(session, took)
			l.later(min(took, longestRest), large)
		}
		if ctx.Err() != nil {
			l.later(cancelRest, calls)
		} else {
			calls()
		}
	}, nil
}

// enterLarge waits until a session may send a large call. Who is to rest gives its turn to others, and so does who
// waits for a quiet moment.
func (l *lanes) enterLarge(ctx context.Context, session string, size int) (leave func(), err error) {
	var since time.Time // it waits for the moment
	for {
		if leave, err = l.large.Enter(ctx, session, 1); err != nil {
			return nil, err
		}
		l.mu.Lock()
		rest := time.Until(l.own[session])
		l.mu.Unlock()
		rests := rest > 0 && l.calls.Crowded(session)
		if !rests && (size < hugeCall || l.calls.Quiet(session, moment)) {
			return leave, nil
		}
		leave()
		look := min(rest, cancelRest) // the others may be gone by then
		if !rests {
			if look = quietLook; since.IsZero() {
				since = time.Now()
			}
			if time.Since(since) >= longestQuiet {
				return nil, &crowdedError{size}
			}
		}
		select {
		case <-time.After(look):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// restOwn has a session send no large call for some time, after one that took so long.
func (l *lanes) restOwn(session string, took time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	maps.DeleteFunc(l.own, func(_ string, until time.Time) bool { return time.Until(until) <= 0 })
	l.own[session] = time.Now().Add(min(ownRests*took, longestOwnRest))
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
