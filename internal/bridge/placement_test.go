package bridge

import (
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"codemode/internal/bridge/bridgetest"
)

// TestPlacement: calls one after the other share a processor, as long as they are quicker so, nothing else goes on, and
// the next one comes soon.
func TestPlacement(t *testing.T) {
	const slow, quick = 3 * time.Millisecond, 2 * time.Millisecond
	type kit struct {
		placement
		shared, times int
		shares        time.Duration // what a call takes then
	}
	calls := func(k *kit, n int) {
		for range n {
			k.call(true)
			if k.shared > 0 {
				<-time.After(k.shares)
			} else {
				<-time.After(slow)
			}
		}
	}
	const toShare, toJudge = callsBefore + callsTimed, callsUntil + callsTimed
	for name, do := range map[string]func(t *testing.T, k *kit){
		"they are quicker": func(t *testing.T, k *kit) {
			calls(k, toShare-1)
			if k.shared != 0 {
				t.Error("it is shared before anything was measured")
			}
			calls(k, 1+toJudge+1000)
			if k.shared != 1 {
				t.Error("it is not shared")
			}
			calls(k, callsKept)
			if k.times != 2 || k.shared != 1 {
				t.Errorf("it was shared %d times, and is %d times", k.times, k.shared)
			}
			k.end()
			calls(k, 2*toShare)
		},
		"they are slower": func(t *testing.T, k *kit) {
			k.shares = 2 * slow
			calls(k, toShare+toJudge)
			if k.shared != 0 || k.times != 1 {
				t.Errorf("it was shared %d times, and is %d times", k.times, k.shared)
			}
			calls(k, 4*callsKept)
			if k.shared != 0 || k.times != mostMisses {
				t.Errorf("it was tried %d times", k.times)
			}
		},
		"they become slower": func(t *testing.T, k *kit) {
			calls(k, toShare+3*toJudge)
			if k.shared != 1 {
				t.Error("it is not shared")
			}
			k.shares = 2 * slow
			calls(k, callsTimed)
			if k.times != 1 || k.shared != 0 {
				t.Errorf("it was shared %d times, and is %d times", k.times, k.shared)
			}
		},
		"something else goes on": func(t *testing.T, k *kit) {
			calls(k, toShare+toJudge)
			k.call(false)
			if k.shared != 0 {
				t.Error("it is still shared")
			}
			calls(k, toShare)
			if k.shared != 1 {
				t.Error("it is not shared again")
			}
			k.end()
		},
		"no call comes": func(t *testing.T, k *kit) {
			calls(k, toShare+toJudge)
			<-time.After(2*longestGap + time.Millisecond)
			synctest.Wait()
			if k.shared != 0 {
				t.Error("it is still shared")
			}
		},
		"calls take long": func(t *testing.T, k *kit) {
			for range 4 * toShare {
				k.call(true)
				<-time.After(longestGap + 1)
			}
			if k.times != 0 {
				t.Error("it was shared")
			}
		},
		"it cannot be shared": func(t *testing.T, k *kit) {
			k.share = func() (func(), error) {
				k.times++
				return nil, errors.New("there is one processor")
			}
			calls(k, 4*toShare)
			if k.times != 1 {
				t.Errorf("that was tried %d times", k.times)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k := &kit{shares: quick}
				k.share = func() (func(), error) {
					k.times++
					k.shared++
					return func() { k.shared-- }, nil
				}
				do(t, k)
				<-time.After(time.Second)
				synctest.Wait()
				if k.shared != 0 {
					t.Error("it is shared at the end")
				}
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
