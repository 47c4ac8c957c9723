package sandbox

import (
	"context"
	"errors"
	"io"
	"os"
	"sync"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"
)

// fakeRuntime counts what it starts and what is closed.
type fakeRuntime struct {
	mu             sync.Mutex
	started, ended int
	fail           error
	closed         bool
	specs          []Spec
}

type fakeSandbox struct {
	Sandbox
	rt   *fakeRuntime
	once sync.Once
	done chan struct{}
}

func (r *fakeRuntime) Name() string                          { return "fake" }
func (r *fakeRuntime) Probe(context.Context) (Report, error) { return Report{}, nil }

func (r *fakeRuntime) Start(_ context.Context, spec Spec) (Sandbox, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fail != nil {
		return nil, r.fail
	}
	r.started++
	r.specs = append(r.specs, spec)
	return &fakeSandbox{rt: r, done: make(chan struct{})}, nil
}

func (r *fakeRuntime) Close() error {
	r.closed = true
	return nil
}

func (r *fakeRuntime) counts() [2]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return [2]int{r.started, r.ended}
}

func (s *fakeSandbox) Channel() io.ReadWriteCloser { return nil }
func (s *fakeSandbox) Done() <-chan struct{}       { return s.done }
func (s *fakeSandbox) Kill()                       { s.once.Do(func() { close(s.done) }) }

func (s *fakeSandbox) Close() error {
	s.Kill()
	s.rt.mu.Lock()
	defer s.rt.mu.Unlock()
	s.rt.ended++
	return nil
}

// tree is comparable, as an embed.FS is.
type tree struct{ *fstest.MapFS }

var someFiles = tree{&fstest.MapFS{}}

// pooled runs a test with a pool, and holds at its end that everything was closed.
func pooled(t *testing.T, size int, idle time.Duration, test func(t *testing.T, p *Pool, rt *fakeRuntime)) {
	synctest.Test(t, func(t *testing.T) {
		rt := &fakeRuntime{}
		p := NewPool(rt, size, idle, nil)
		test(t, p, rt)
		for range 2 {
			if err := p.Close(); err != nil {
				t.Error(err)
			}
		}
		if c := rt.counts(); c[0] != c[1] || !rt.closed {
			t.Errorf("%d sandboxes were started and %d closed; runtime closed: %t", c[0], c[1], rt.closed)
		}
		if _, err := p.Start(t.Context(), Spec{Files: someFiles}); !errors.Is(err, errPoolClosed) {
			t.Errorf("starting after Close: %v", err)
		}
	})
}

func startFake(t *testing.T, p *Pool, spec Spec) Sandbox {
	t.Helper()
	spec.Files = someFiles
	sb, err := p.Start(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	return sb
}

// filled lets the pool start what is missing.
func filled() {
	<-time.After(fillPause)
	synctest.Wait()
}

func wantCounts(t *testing.T, rt *fakeRuntime, started, ended int) {
	t.Helper()
	filled()
	if got := rt.counts(); got != [2]int{started, ended} {
		t.Errorf("started and ended: %v, want %d and %d", got, started, ended)
	}
}

func TestPoolHandsOut(t *testing.T) {
	pooled(t, 2, 0, func(t *testing.T, p *Pool, rt *fakeRuntime) {
		a := startFake(t, p, Spec{Session: "a", Tenant: "t"})
		synctest.Wait()
		if got := rt.counts(); got != [2]int{1, 0} {
			t.Errorf("beside the first run of a session, started and ended: %v", got)
		}
		wantCounts(t, rt, 3, 0) // and two that wait
		b := startFake(t, p, Spec{Session: "b"})
		wantCounts(t, rt, 4, 0)
		if a == b {
			t.Error("one sandbox was handed out twice")
		}
		if s := rt.specs[1]; s.Session != PoolLabel || s.Tenant != "" {
			t.Errorf("a sandbox that waits was started for session %q, tenant %q", s.Session, s.Tenant)
		}
		a.Close()
		b.Close()
	})
}

func TestPoolStartsOthersThemselves(t *testing.T) {
	stdin, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	pooled(t, 1, 0, func(t *testing.T, p *Pool, rt *fakeRuntime) {
		startFake(t, p, Spec{}).Close()
		wantCounts(t, rt, 2, 1)
		startFake(t, p, Spec{Stdin: stdin}).Close()
		startFake(t, p, Spec{Env: []string{"A=1"}}).Close()
		wantCounts(t, rt, 4, 3)
	})
}

func TestPoolFollowsThePolicy(t *testing.T) {
	pooled(t, 1, 0, func(t *testing.T, p *Pool, rt *fakeRuntime) {
		startFake(t, p, Spec{}).Close()
		wantCounts(t, rt, 2, 1)
		startFake(t, p, Spec{Policy: Policy{Memory: 1}}).Close() // its own, and the one that waited goes
		wantCounts(t, rt, 4, 3)
		startFake(t, p, Spec{Policy: Policy{Memory: 1}}).Close()
		wantCounts(t, rt, 5, 4)
		for _, s := range rt.specs[2:] {
			if s.Policy.Memory != 1 {
				t.Errorf("started with policy %+v", s.Policy)
			}
		}
	})
}

func TestPoolReplacesTheDead(t *testing.T) {
	pooled(t, 1, 0, func(t *testing.T, p *Pool, rt *fakeRuntime) {
		startFake(t, p, Spec{}).Close()
		filled()
		p.waiting[0].Kill()
		sb := startFake(t, p, Spec{})
		select {
		case <-sb.Done():
			t.Error("a dead sandbox was handed out")
		default:
		}
		sb.Close()
		wantCounts(t, rt, 4, 3)
	})
}

func TestPoolLetsGoWhenIdle(t *testing.T) {
	pooled(t, 1, time.Minute, func(t *testing.T, p *Pool, rt *fakeRuntime) {
		startFake(t, p, Spec{}).Close()
		wantCounts(t, rt, 2, 1)
		<-time.After(2 * time.Minute)
		wantCounts(t, rt, 2, 2)
		startFake(t, p, Spec{}).Close()
		wantCounts(t, rt, 4, 3)
	})
}

func TestPoolFailure(t *testing.T) {
	pooled(t, 1, 0, func(t *testing.T, p *Pool, rt *fakeRuntime) {
		sb := startFake(t, p, Spec{})
		filled()
		rt.fail = errors.New("the engine is gone")
		startFake(t, p, Spec{}).Close() // the one that waited; its place stays empty
		filled()
		if _, err := p.Start(t.Context(), Spec{Files: someFiles}); !errors.Is(err, rt.fail) {
			t.Errorf("error %v", err)
		}
		sb.Close()
	})
}
