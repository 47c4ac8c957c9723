package bridge

import (
	"context"
	"time"

	"codemode/internal/fair"
)

// longestProbe is how far apart probes are at most: single calls to a server that may have many cancelled ones to do.
const longestProbe = 30 * time.Second

// cancelledCalls are those of a session that a server may still be busy with: one that does not heed cancellations does
// one after the other, and all others wait for it. Whether it does, a call that was sent later shows by its answer.
type cancelledCalls struct {
	count int
	last  int         // the number of the last that was sent
	turn  *fair.Queue // for one call at a time, where there are many
}

// enterProbe waits where a server may have many cancelled calls of the session's still to do: then its calls go one at
// a time, as probes, until one is answered. The caller calls leave, where there is one, when it returned no error.
func (l *lanes) enterProbe(ctx context.Context, session string) (leave func(), err error) {
	l.mu.Lock()
	c := l.cancelled[session]
	many := c != nil && c.count > callsBeside
	l.mu.Unlock()
	if !many {
		return nil, nil
	}
	if leave, err = c.turn.Enter(ctx, session, 1); err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cancelled[session] != c { // one was answered meanwhile
		leave()
		return nil, nil
	}
	return leave, nil
}

// number counts a call that is sent.
func (l *lanes) number() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sent++
	return l.sent
}

// ended notes that a call was answered or cancelled. After a probe that was cancelled, the next is sent later.
func (l *lanes) ended(session string, sent int, cancelled bool, leaveProbe func()) {
	rest := time.Duration(0)
	if cancelled {
		rest = l.cancel(session, sent)
	} else {
		l.answer(sent)
	}
	switch {
	case leaveProbe == nil:
	case rest > 0:
		l.later(rest, leaveProbe)
	default:
		leaveProbe()
	}
}

// cancel notes a call that was cancelled, and returns how long the session's next one is to wait where it has many.
func (l *lanes) cancel(session string, sent int) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.cancelled[session]
	if c == nil {
		c = &cancelledCalls{turn: fair.New(1, 0)}
		l.cancelled[session] = c
	}
	c.count++
	c.last = max(c.last, sent)
	return min(cancelRest*time.Duration(max(1, c.count-callsBeside)), longestProbe)
}

// answer notes that a call was answered: the server is not busy any more with what was sent before it, or not with that
// alone.
func (l *lanes) answer(sent int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for session, c := range l.cancelled {
		if c.last < sent {
			delete(l.cancelled, session)
		}
	}
}
