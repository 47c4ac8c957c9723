package sandbox

import (
	"context"
	"errors"
	"log/slog"
	"reflect"
	"sync"
	"time"
)

// A Pool is a runtime over another: it keeps some sandboxes started that nobody has used, and hands one
// out for a start that asks for the same. Which those are, the first start says. Close ends them, and the
// runtime below.
//
// A sandbox that waits belongs to no session and no tenant, and its labels say so: nothing of either
// reaches a guest before it is handed out, and none is handed out twice.
type Pool struct {
	Runtime
	size int
	idle time.Duration
	log  *slog.Logger

	closing context.Context // ends when Close begins
	end     context.CancelFunc

	mu      sync.Mutex
	shape   *shape
	waiting []Sandbox
	filling int         // starts under way
	failed  bool        // the last of them did not work: no more until a start has
	expire  *time.Timer // lets those that wait go, when nobody has started anything for long
	closed  bool
	work    sync.WaitGroup // starts under way, and sandboxes being closed
}

// A shape is what starts must have in common to share sandboxes.
type shape struct{ spec Spec }

// PoolLabel is the session of a sandbox that waits.
const PoolLabel = "pool"

// poolStart bounds a start that nobody waits for.
const poolStart = time.Minute

// fillPause lets the session that has just got a sandbox have the processors for its first run.
const fillPause = 30 * time.Millisecond

var errPoolClosed = errors.New("the runtime is closed")

// NewPool returns a pool that keeps size sandboxes of rt waiting, and lets them go after idle without a
// start; 0 is never. It starts none before the first Start, so that what is never used costs nothing.
func NewPool(rt Runtime, size int, idle time.Duration, log *slog.Logger) *Pool {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	p := &Pool{Runtime: rt, size: size, idle: idle, log: log}
	p.closing, p.end = context.WithCancel(context.Background())
	return p
}

// Start hands out a sandbox that waits, or starts one.
func (p *Pool) Start(ctx context.Context, spec Spec) (Sandbox, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	s, poolable := shapeOf(spec)
	if !poolable || p.size <= 0 {
		return p.Runtime.Start(ctx, spec)
	}
	sb, err := p.take(s)
	if sb != nil || err != nil {
		if native, ok := sb.(interface{ PID() int }); ok { // whose start was logged for no session
			p.log.DebugContext(ctx, "sandbox taken from the pool", "pid", native.PID())
		}
		p.fill(s)
		return sb, err
	}
	sb, err = p.Runtime.Start(ctx, spec)
	if err == nil {
		p.fill(s)
	}
	return sb, err
}

// shapeOf is what a pooled sandbox must have been started with; not every start can have one.
func shapeOf(spec Spec) (*shape, bool) {
	own := len(spec.Env) > 0 || len(spec.Mounts) > 0 // may differ by the time the sandbox is handed out
	if own || spec.Stdin != nil || !reflect.TypeOf(spec.Files).Comparable() {
		return nil, false
	}
	spec.Session, spec.Tenant = PoolLabel, ""
	return &shape{spec}, true
}

func (s *shape) equal(o *shape) bool {
	return s.spec.Files == o.spec.Files && s.spec.Boot == o.spec.Boot && s.spec.Out == o.spec.Out &&
		s.spec.Packages == o.spec.Packages &&
		reflect.DeepEqual(s.spec.Policy, o.spec.Policy)
}

// take returns a sandbox that waits and lives, nil without one.
func (p *Pool) take(s *shape) (Sandbox, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, errPoolClosed
	}
	if p.shape == nil || !p.shape.equal(s) {
		return nil, nil
	}
	for len(p.waiting) > 0 {
		sb := p.waiting[0]
		p.waiting = p.waiting[1:]
		select {
		case <-sb.Done(): // it was killed, or its engine was
			p.discard(sb)
		default:
			return sb, nil
		}
	}
	return nil, nil
}

// fill starts what is missing, in the background.
func (p *Pool) fill(s *shape) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return
	}
	if p.shape == nil || !p.shape.equal(s) { // the policy has changed
		p.shape = s
		p.release()
	}
	p.failed = false
	if p.idle > 0 {
		if p.expire != nil {
			p.expire.Stop()
		}
		p.expire = time.AfterFunc(p.idle, p.expired)
	}
	p.startMissing()
}

// startMissing is called with p.mu held.
func (p *Pool) startMissing() {
	for len(p.waiting)+p.filling < p.size && !p.failed && !p.closed {
		p.filling++
		s := p.shape
		p.work.Go(func() { p.startOne(s) })
	}
}

func (p *Pool) startOne(s *shape) {
	select {
	case <-time.After(fillPause):
	case <-p.closing.Done():
		p.add(s, nil, errPoolClosed)
		return
	}
	ctx, cancel := context.WithTimeout(p.closing, poolStart)
	defer cancel()
	sb, err := p.Runtime.Start(ctx, s.spec)
	if err != nil && p.closing.Err() == nil {
		p.log.Debug("starting a sandbox for the pool", "error", err)
	}
	if !p.add(s, sb, err) && err == nil {
		p.close(sb)
	}
}

// add ends a start for the pool, and tells whether its sandbox is to wait.
func (p *Pool) add(s *shape, sb Sandbox, err error) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.filling--
	switch {
	case err != nil:
		p.failed = true // the next start tells its caller why
	case p.closed:
	case p.shape != s: // another policy, or idle meanwhile
		if p.shape != nil {
			p.startMissing()
		}
	default:
		p.waiting = append(p.waiting, sb)
		return true
	}
	return false
}

// expired lets those that wait go. The next start fills the pool again.
func (p *Pool) expired() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.release()
	p.shape = nil
}

// release is called with p.mu held.
func (p *Pool) release() {
	for _, sb := range p.waiting {
		p.discard(sb)
	}
	p.waiting = nil
}

// discard closes a sandbox in the background; it is called with p.mu held.
func (p *Pool) discard(sb Sandbox) {
	p.work.Go(func() { p.close(sb) })
}

func (p *Pool) close(sb Sandbox) {
	if err := sb.Close(); err != nil {
		p.log.Warn("closing a sandbox of the pool", "error", err)
	}
}

// Close ends the sandboxes that wait, and closes the runtime below.
func (p *Pool) Close() error {
	p.end()
	p.mu.Lock()
	if p.expire != nil {
		p.expire.Stop()
	}
	for _, sb := range p.waiting {
		p.work.Go(func() { p.close(sb) })
	}
	p.waiting, p.closed = nil, true
	p.mu.Unlock()
	p.work.Wait()
	return p.Runtime.Close()
}

// Full tells whether as many sandboxes wait as are to.
func (p *Pool) Full() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.waiting) >= p.size
}
