package fair

import (
	"context"
	"sync"
	"time"
)

// rest is how long a pace has somebody wait at least, for each wait costs something too.
const rest = 5 * time.Millisecond

// A Pace has somebody wait whose work is ahead of what was allowed for it. Its zero value is somebody new.
type Pace struct {
	mu   sync.Mutex
	paid time.Time // when what was done has been waited for
}

// Count counts work that is waited for so long.
func (p *Pace) Count(wait time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if now := time.Now(); p.paid.Before(now) {
		p.paid = now
	}
	p.paid = p.paid.Add(wait)
}

// Wait waits until no more than ahead is still to be waited for.
func (p *Pace) Wait(ctx context.Context, ahead time.Duration) error {
	p.mu.Lock()
	late := time.Until(p.paid.Add(-ahead))
	p.mu.Unlock()
	if late <= 0 {
		return nil
	}
	select {
	case <-time.After(late + rest):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
