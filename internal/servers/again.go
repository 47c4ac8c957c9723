package servers

import (
	"context"
	"time"

	"codemode/internal/config"
	"codemode/internal/upstream"
)

// A server that has listed the same tools AskedInVain times, one after the other, is not asked again for names that it
// does not list for as long as nothingNew. With a list that is longer than shortList it is so each time, for as long as
// its bytes count in upstream, for a list that its server says has changed.
const (
	AskedInVain = 3
	nothingNew  = 5 * time.Second
	shortList   = 64 << 10
)

// asking is a server that is asked once more, or was lately.
type asking struct {
	over  chan struct{} // closed when it has answered
	vain  int           // how often, one after the other, it had nothing new to say; this and the next one after over
	until time.Time     // when it may be asked again
}

func (a *asking) isOver() bool {
	select {
	case <-a.over:
		return true
	default:
		return false
	}
}

// Again is relist for what code asks, which can make up names without end: a server that had nothing new to say is left
// alone for a while. Those who ask meanwhile wait for the one answer. If there was something new, each session is told
// of it, so who asks once more waits until that may happen again.
func (s *Inventory) Again(ctx context.Context, c config.Server) (*Known, error) {
	for {
		s.mu.Lock()
		a, before := s.asking[c.Name], s.known[c.Name]
		over := a == nil || a.isOver()
		if a == nil || over && !time.Now().Before(a.until) {
			next := &asking{over: make(chan struct{})}
			if a != nil {
				next.vain = a.vain
			}
			s.asking[c.Name] = next
			s.mu.Unlock()
			return s.ask(ctx, c, next, before)
		}
		s.mu.Unlock()
		if over && a.vain > 0 {
			return s.Know(ctx, c)
		}
		answered := a.over
		var rest <-chan time.Time
		if over {
			answered, rest = nil, time.After(time.Until(a.until))
		}
		select {
		case <-answered:
			return s.Know(ctx, c)
		case <-rest:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// ask asks a server once more, and says when that may be done again.
func (s *Inventory) ask(ctx context.Context, c config.Server, a *asking, before *Known) (*Known, error) {
	defer close(a.over)
	k, err := s.relist(ctx, c)
	if err != nil {
		a.vain = 0
		return nil, err
	}
	size := 0
	for _, tool := range k.List {
		size += len(tool)
	}
	rest := upstream.ChangePerByte * time.Duration(size)
	switch {
	case k != before:
		a.vain = 0
	case a.vain+1 >= AskedInVain:
		a.vain, rest = a.vain+1, max(rest, nothingNew)
	default:
		if a.vain++; size <= shortList {
			rest = 0
		}
	}
	a.until = time.Now().Add(rest)
	return k, nil
}
