package bridge

import (
	"errors"
	"io"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"codemode/internal/bridge/bridgetest"
)

// placed is a placement whose calls take as long as who shares a processor has it.
type placedCalls struct {
	placement
	takes  [ways]time.Duration
	there  way   // that is shared now
	tried  []way // in this order
	fails  way   // that cannot be shared; free is none
	server int   // that the calls go to
}

func newPlacedCalls(takes ...time.Duration) *placedCalls {
	k := &placedCalls{takes: [ways]time.Duration(takes), server: 7}
	k.now = time.Now
	k.share = func(others ...int) (func(), error) {
		w := withGuest + way(len(others))
		k.tried = append(k.tried, w)
		if k.there != free {
			return nil, errors.New("it is shared already")
		}
		if w == k.fails {
			return nil, errors.New("that cannot be")
		}
		if w == withServer && others[0] != k.server {
			return nil, errors.New("another server was meant")
		}
		k.there = w
		return func() { k.there = free }, nil
	}
	return k
}

// calls makes calls, one after the other.
func (k *placedCalls) calls(n int) {
	for range n {
		k.call(true)
		k.to(k.server)
		k.pass()
	}
}

// pass is the rest of a request.
func (k *placedCalls) pass() {
	there, _ := k.seen()
	<-time.After(k.takes[there])
}

// seen is who shares a processor, and what was tried. The lock is what the race detector knows an order by.
func (k *placedCalls) seen() (there way, tried []way) {
	synctest.Wait()
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.there, slices.Clone(k.tried)
}

// want compares who shares a processor, and what was tried before.
func (k *placedCalls) want(t *testing.T, there way, tried ...way) {
	t.Helper()
	if is, after := k.seen(); is != there || !slices.Equal(after, tried) {
		t.Errorf("it is %d after %v, want %d after %v", is, after, there, tried)
	}
}

const (
	slow, quick, quickest = 3 * time.Millisecond, 2 * time.Millisecond, time.Millisecond

	callsToShare = callsBefore + callsTimed
	callsToJudge = callsUntil + callsTimed
)

// TestPlacement: calls one after the other share a processor, in the way in which they are quickest, as long as they
// are much quicker so, nothing else goes on, and the next one comes soon.
func TestPlacement(t *testing.T) {
	for name, do := range map[string]func(t *testing.T){
		"each way is quicker": func(t *testing.T) {
			k := newPlacedCalls(slow, quick, quickest)
			k.calls(callsToShare - 1)
			k.want(t, free)
			k.calls(1)
			k.want(t, withGuest, withGuest)
			k.calls(callsToJudge)
			k.want(t, withServer, withGuest, withServer)
			k.calls(callsUntil + callsKept)
			k.want(t, withServer, withGuest, withServer)
			k.calls(1)
			k.want(t, free, withGuest, withServer)
			k.calls(callsToShare + 2*callsToJudge)
			k.want(t, withServer, withGuest, withServer, withGuest, withServer)
			k.end()
			k.want(t, free, withGuest, withServer, withGuest, withServer)
			k.calls(2 * callsToShare)
			k.want(t, free, withGuest, withServer, withGuest, withServer)
		},
		"none is": func(t *testing.T) {
			k := newPlacedCalls(slow, slow, slow)
			k.calls(callsToShare + 2*callsToJudge)
			k.want(t, free, withGuest, withServer)
			k.calls(4 * callsKept)
			k.want(t, free, withGuest, withServer, withGuest, withServer)
		},
		"the guest's is": func(t *testing.T) {
			k := newPlacedCalls(slow, quick, quick*49/50)
			k.calls(callsToShare + 2*callsToJudge)
			k.want(t, withGuest, withGuest, withServer, withGuest)
			k.calls(callsKept)
			k.want(t, withGuest, withGuest, withServer, withGuest)
			k.calls(callsKept + 1000) // in which all is measured twice more
			k.want(t, withGuest, withGuest, withServer, withGuest, withGuest, withServer, withGuest, withGuest)
		},
		"the server's alone is": func(t *testing.T) {
			k := newPlacedCalls(slow, 2*slow, quick)
			k.calls(callsToShare + 2*callsToJudge + 1000)
			k.want(t, withServer, withGuest, withServer)
		},
		"the server's is much slower": func(t *testing.T) {
			k := newPlacedCalls(slow, quick, 3*slow)
			k.calls(callsToShare + callsToJudge + callsUntil)
			k.want(t, withServer, withGuest, withServer)
			k.calls(callsTimed / 4)
			k.want(t, withGuest, withGuest, withServer, withGuest)
		},
		"it becomes slower": func(t *testing.T) {
			k := newPlacedCalls(slow, quick, quickest)
			k.calls(callsToShare + 3*callsToJudge)
			k.want(t, withServer, withGuest, withServer)
			k.takes[withServer] = 2 * quick // than with the guest alone
			k.calls(callsTimed)
			k.want(t, free, withGuest, withServer)
			k.calls(callsToShare + 3*callsToJudge)
			k.want(t, withGuest, withGuest, withServer, withGuest, withServer, withGuest)
		},
		"another server": func(t *testing.T) {
			k := newPlacedCalls(slow, quick, quickest)
			k.calls(callsToShare + 3*callsToJudge)
			k.want(t, withServer, withGuest, withServer)
			k.call(true)
			k.server = 8
			k.to(k.server)
			k.want(t, free, withGuest, withServer)
			k.pass()
			k.calls(callsToShare + 3*callsToJudge)
			k.want(t, withServer, withGuest, withServer, withGuest, withServer)
		},
		"several servers": func(t *testing.T) {
			k := newPlacedCalls(slow, quick, quickest)
			for range callsToShare + 3*callsToJudge {
				k.calls(1)
				k.server = 15 - k.server
			}
			k.want(t, withGuest, withGuest)
		},
		"another request": func(t *testing.T) {
			k := newPlacedCalls(slow, quick, quickest)
			k.calls(callsToShare + 3*callsToJudge)
			k.call(true) // of what is in no server
			k.pass()
			k.calls(1)
			k.want(t, free, withGuest, withServer)
		},
		"a server that is not to be bound": func(t *testing.T) {
			k := newPlacedCalls(slow, quick, quickest)
			k.server = 0
			k.calls(callsToShare + 3*callsToJudge)
			k.want(t, withGuest, withGuest)
		},
		"something else goes on": func(t *testing.T) {
			k := newPlacedCalls(slow, quick, quickest)
			k.calls(callsToShare + 3*callsToJudge)
			k.call(false)
			k.want(t, free, withGuest, withServer)
			k.calls(callsToShare)
			k.want(t, withGuest, withGuest, withServer, withGuest)
		},
		"no call comes": func(t *testing.T) {
			k := newPlacedCalls(slow, quick, quickest)
			k.calls(callsToShare + 3*callsToJudge)
			<-time.After(2*longestGap + time.Millisecond)
			k.want(t, free, withGuest, withServer)
		},
		"calls take long": func(t *testing.T) {
			k := newPlacedCalls(longestGap+1, quick, quickest)
			k.calls(4 * callsToShare)
			k.want(t, free)
		},
		"nothing can be shared": func(t *testing.T) {
			k := newPlacedCalls(slow, quick, quickest)
			k.fails = withGuest
			k.calls(8 * callsToShare)
			k.want(t, free, withGuest)
		},
		"the server cannot be bound": func(t *testing.T) {
			k := newPlacedCalls(slow, quick, quickest)
			k.fails = withServer
			k.calls(callsToShare + 3*callsToJudge)
			k.want(t, withGuest, withGuest, withServer, withGuest)
			k.calls(callsKept + callsToShare)
			k.want(t, withGuest, withGuest, withServer, withGuest, withGuest)
		},
		"it ends while processes are moved": func(t *testing.T) {
			k := newPlacedCalls(slow, quick, quickest)
			share := k.share
			k.share = func(others ...int) (func(), error) {
				<-time.After(quickest)
				return share(others...)
			}
			k.calls(callsToShare - 1)
			k.call(true)
			synctest.Wait()
			k.end()
			k.want(t, free, withGuest)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				do(t)
				<-time.After(time.Second) // in which look has ended
			})
		})
	}
}

// TestRequestsShareAProcessor holds that a guest's requests, one after the other, have it share a processor, and that
// the end of its run ends that; and that they do not beside another one.
func TestRequestsShareAProcessor(t *testing.T) {
	for name, beside := range map[string]bool{"one after the other": false, "beside another": true} {
		t.Run(name, func(t *testing.T) {
			input, inputEnd := io.Pipe()
			b, rt := scriptedBridge(t, func(g *bridgetest.Guest) {
				run, _, ok := g.Run()
				if beside {
					g.Send(`{"jsonrpc":"2.0","id":100000,"method":"stdin"}`)
				}
				for n := 0; ok && n < 4*(callsBefore+callsTimed); n++ {
					g.Send(`{"jsonrpc":"2.0","id":%d,"method":"search","params":{"query":"x"}}`, n)
					ok = g.Next() != nil
				}
				inputEnd.Close()
				g.Send(`{"jsonrpc":"2.0","id":%d,"result":{"status":"ok"}}`, run)
				g.Drain()
			})
			rt.Input = input
			if out := b.Run(t.Context(), Request{Code: "x", Timeout: 20 * time.Second}); out.Status != StatusSuccess {
				t.Fatal(out.Error)
			}
			shared, released := rt.Shared.Load(), rt.Released.Load()
			if beside == (shared > 0) || shared != released {
				t.Errorf("a processor was shared %d times, and given back %d", shared, released)
			}
		})
	}
}
