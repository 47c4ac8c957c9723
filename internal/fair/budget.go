package fair

import (
	"context"
	"sync"
	"time"
)

// Look is how often who waits for a share looks for one that has been held for too long.
const Look = time.Second

// A Budget is a queue whose turns can last. While a key that holds nothing waits, shares that are held beyond their
// limits are ended, the oldest first, one at each look.
type Budget struct {
	queue *Queue

	mu   sync.Mutex
	held []*Share // the oldest first
}

// A Share is what is held of a budget. A nil one is of nothing.
type Share struct {
	budget *Budget
	key    string
	turn   *Turn

	// These are budget.mu's.
	since time.Time
	limit Limit
	end   func() // nil while it cannot be ended
}

// A Limit is how long a share may be held while one key that holds nothing waits, and with Shortest above 0, while n of
// them wait, the n-th part of that, but at least Shortest: many holders, one after the other, are not to keep them
// waiting for so many times Longest.
type Limit struct{ Longest, Shortest time.Duration }

// of is the limit while so many wait.
func (l Limit) of(waiting int) time.Duration {
	if l.Shortest == 0 {
		return l.Longest
	}
	return max(l.Shortest, l.Longest/time.Duration(max(1, waiting)))
}

// NewBudget returns a budget of that weight.
func NewBudget(room int) *Budget { return &Budget{queue: New(room, 0)} }

// Take waits for a share. The caller calls Leave when it returned no error.
func (b *Budget) Take(ctx context.Context, key string, weight int) (*Share, error) {
	turn := b.queue.Join(key, weight)
	for {
		look, cancel := context.WithTimeout(ctx, Look)
		err := turn.Wait(look)
		cancel()
		if err == nil {
			break
		}
		if ctx.Err() != nil {
			turn.Leave()
			return nil, context.Cause(ctx)
		}
		b.endOldest(key)
	}
	s := &Share{budget: b, key: key, turn: turn}
	b.mu.Lock()
	b.held = append(b.held, s)
	b.mu.Unlock()
	return s, nil
}

// endOldest ends what has been held for too long, in the place of a key that holds nothing.
func (b *Budget) endOldest(key string) {
	waiting := b.queue.waiting()
	b.mu.Lock()
	var oldest *Share
	for _, s := range b.held {
		if s.key == key { // it waits for itself
			b.mu.Unlock()
			return
		}
		if oldest == nil && s.end != nil && time.Since(s.since) >= s.limit.of(waiting) {
			oldest = s
		}
	}
	if oldest == nil {
		b.mu.Unlock()
		return
	}
	end := oldest.end
	oldest.end = nil
	b.mu.Unlock()
	end()
}

// Limit has end called when the share is still held at a limit from now, and others wait, at most once, in the place of
// what was to be called; nil has nothing called. It must make the holder leave, and must not wait for it.
func (s *Share) Limit(limit Limit, end func()) {
	if s == nil {
		return
	}
	s.budget.mu.Lock()
	defer s.budget.mu.Unlock()
	s.since, s.limit, s.end = time.Now(), limit, end
}

// Lighten has it stand for less.
func (s *Share) Lighten(weight int) {
	if s != nil {
		s.turn.Lighten(weight)
	}
}

// Leave gives it back. It does nothing the second time.
func (s *Share) Leave() {
	if s == nil {
		return
	}
	s.budget.mu.Lock()
	s.budget.held = without(s.budget.held, s)
	s.end = nil
	s.budget.mu.Unlock()
	s.turn.Leave()
}
