// Package fair is a fair queue: turns are given by key, so that a key with much to do delays each other one by a turn;
// a Budget is one whose turns last. A Pace is for work that nobody can take turns at.
//
// It knows nothing of what is shared. None starts a goroutine or needs a Close.
package fair

import (
	"context"
	"sync"
	"time"
)

// lately is how long a key counts as one that uses a queue, from the end of its last turn.
const lately = 10 * time.Second

// A Queue has room for so many turns at once. Of those who wait, the key goes first that was given a turn longest ago.
// While several keys use the queue, one holds no more than its share, so that another that comes finds room.
type Queue struct {
	room  int
	share int // of a key among others; 0 is an equal part of the room

	mu    sync.Mutex
	taken int
	given int // turns so far
	lines map[string]*line
	wait  []*line // those with somebody waiting
}

// line is what a key holds and waits for.
type line struct {
	held    int
	waiting []*Turn
	last    int       // which of the turns given was its last
	used    time.Time // the end of that
}

// A Turn is a place in a queue, and what it stands for once it has come. It belongs to one goroutine.
type Turn struct {
	queue  *Queue
	line   *line
	weight int
	came   chan struct{} // closed when it is its holder's turn
	over   bool
}

// New returns a queue with room for turns of that weight together. While others use it, a key holds at most its share;
// 0 is an equal part.
func New(room, share int) *Queue {
	return &Queue{room: room, share: share, lines: map[string]*line{}}
}

// Join takes a place in the line of a key. One that is too heavy for the room, or for the share, has it alone. The
// caller calls Leave, whether it waits or not.
func (q *Queue) Join(key string, weight int) *Turn {
	q.mu.Lock()
	defer q.mu.Unlock()
	l := q.lines[key]
	if l == nil {
		l = &line{}
		q.lines[key] = l
	}
	t := &Turn{queue: q, line: l, weight: weight, came: make(chan struct{})}
	if len(l.waiting) == 0 {
		q.wait = append(q.wait, l)
	}
	l.waiting = append(l.waiting, t)
	q.give()
	return t
}

// Enter joins and waits. The caller calls leave when it returned no error.
func (q *Queue) Enter(ctx context.Context, key string, weight int) (leave func(), err error) {
	t := q.Join(key, weight)
	if err := t.Wait(ctx); err != nil {
		t.Leave()
		return nil, err
	}
	return t.Leave, nil
}

// Wait waits for the turn to come.
func (t *Turn) Wait(ctx context.Context) error {
	select {
	case <-t.came:
		return nil
	default:
	}
	select {
	case <-t.came:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Lighten has a turn that has come stand for less.
func (t *Turn) Lighten(weight int) {
	q := t.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	if t.over || weight >= t.weight {
		return
	}
	q.taken -= t.weight - weight
	t.line.held -= t.weight - weight
	t.weight = weight
	q.give()
}

// Leave ends the turn, or gives up the place. It does nothing the second time.
func (t *Turn) Leave() {
	q := t.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	if t.over {
		return
	}
	t.over = true
	select {
	case <-t.came:
		q.taken -= t.weight
		t.line.held -= t.weight
	default:
		t.line.waiting = without(t.line.waiting, t)
		if len(t.line.waiting) == 0 {
			q.wait = without(q.wait, t.line)
		}
	}
	t.line.used = time.Now()
	q.give()
}

// Users counts the keys that use the queue.
func (q *Queue) Users() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.users()
}

// Crowded says whether others than a key use the queue.
func (q *Queue) Crowded(key string) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	others := q.users()
	if l := q.lines[key]; l != nil {
		others--
	}
	return others > 0
}

// Quiet says whether nobody but a key has held or wanted a turn for so long, which is no longer than a key counts.
func (q *Queue) Quiet(key string, long time.Duration) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	for k, l := range q.lines {
		if k != key && (l.held > 0 || len(l.waiting) > 0 || time.Since(l.used) < long) {
			return false
		}
	}
	return true
}

// waiting counts the keys that wait and hold nothing.
func (q *Queue) waiting() (n int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, l := range q.wait {
		if l.held == 0 {
			n++
		}
	}
	return n
}

// give gives turns while there is room. It is called with the lock held.
func (q *Queue) give() {
	share := q.shareOf(q.users())
	for l := q.next(share); l != nil; l = q.next(share) {
		t := l.waiting[0]
		if q.taken > 0 && q.taken+t.weight > q.room {
			return
		}
		if l.waiting = l.waiting[1:]; len(l.waiting) == 0 {
			q.wait = without(q.wait, l)
		}
		q.given++
		l.last = q.given
		l.held += t.weight
		q.taken += t.weight
		close(t.came)
	}
}

// next is whose turn it is: not that of a line which would hold more than its share, for others do not wait for its
// turns.
func (q *Queue) next(share int) (next *line) {
	for _, l := range q.wait {
		if (l.held == 0 || l.held+l.waiting[0].weight <= share) && (next == nil || l.last < next.last) {
			next = l
		}
	}
	return next
}

// shareOf is what a key may hold while so many use the queue.
func (q *Queue) shareOf(users int) int {
	if users <= 1 {
		return q.room
	}
	equal := max(1, q.room/users)
	if q.share > 0 {
		return min(equal, q.share)
	}
	return equal
}

// users counts the keys that use the queue, and forgets those that no longer do.
func (q *Queue) users() int {
	if len(q.lines) > 1 {
		for key, l := range q.lines {
			if l.held == 0 && len(l.waiting) == 0 && time.Since(l.used) >= lately {
				delete(q.lines, key)
			}
		}
	}
	return len(q.lines)
}

// without removes one that is there once.
func without[T comparable](list []T, gone T) []T {
	for i, e := range list {
		if e == gone {
			return append(list[:i:i], list[i+1:]...)
		}
	}
	return list
}
