package bridge

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"codemode/internal/bridge/bridgetest"
	"codemode/internal/sandbox/affinity"
)

// TestServerSharesAProcessor: a server whose calls are quicker so shares a processor with codemode and the guest; one
// whose calls are not has its own soon, and one that another session uses keeps them. At the end of the run all do.
func TestServerSharesAProcessor(t *testing.T) {
	all := processorsOf(t, 0)
	if all < 2 {
		t.Skip("there is one processor")
	}
	for name, test := range map[string]struct {
		with   time.Duration // what a call takes while the server shares a processor
		beside bool
		least  int // calls in a row that it does
		most   int
	}{
		"quicker":                    {with: quickest, least: 2 * callsToJudge, most: callsKept},
		"slower":                     {with: slow, least: callsUntil, most: callsToJudge},
		"which another session uses": {with: quickest, beside: true},
	} {
		t.Run(name, func(t *testing.T) {
			guest := exec.Command("sleep", "600")
			if err := guest.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = guest.Wait() })
			rt := &bridgetest.Scripted{T: t, Share: func(others ...int) (func(), error) {
				return affinity.Share(append([]int{guest.Process.Pid}, others...)...)
			}}
			k := newKitOn(t, rt, nil, fake("fake"))
			t.Cleanup(func() { _ = guest.Process.Kill() })
			var clock atomic.Int64
			k.now = func() time.Time { return time.Unix(0, clock.Load()) }
			if test.beside {
				leave, err := k.admission.lanesOf("fake").calls.Enter(t.Context(), "another", 1)
				if err != nil {
					t.Fatal(err)
				}
				defer leave()
			}
			longest, row := 0, 0
			rt.Script = func(g *bridgetest.Guest) {
				run, _, ok := g.Run()
				for n := 0; ok && n < callsToShare+8*callsToJudge; n++ {
					g.Send(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"server":"fake","tool":"echo",`+
						`"arguments":{"message":"x"}}}`, n)
					if ok = g.Next() != nil; !ok {
						return
					}
					k.eventually("processes have been moved", func() bool { return !moving(k) })
					takes := slow
					row++
					switch {
					case processorsOf(t, server(k)) < all:
						longest, takes = max(longest, row), test.with
					case processorsOf(t, guest.Process.Pid) < all:
						row, takes = 0, quick
					default:
						row = 0
					}
					clock.Add(int64(takes))
				}
				g.Send(`{"jsonrpc":"2.0","id":%d,"result":{"status":"ok"}}`, run)
				g.Drain()
			}
			if out := k.run(Request{Code: "x"}); out.Status != StatusSuccess {
				t.Fatal(out.Error)
			}
			if longest < test.least || longest > test.most {
				t.Errorf("the server shared a processor for %d calls, want %d to %d", longest, test.least, test.most)
			}
			for _, pid := range []int{os.Getpid(), guest.Process.Pid, k.pool.Process("fake"), server(k)} {
				if n := processorsOf(t, pid); n != all {
					t.Errorf("process %d has %d processors afterwards", pid, n)
				}
			}
		})
	}
}

// moving says whether the placement of the run under way is moving processes.
func moving(k *kit) bool {
	k.mu.Lock()
	s := k.sessions[defaultSession]
	k.mu.Unlock()
	s.mu.Lock()
	r := s.live.currentRun()
	s.mu.Unlock()
	r.placement.mu.Lock()
	defer r.placement.mu.Unlock()
	return r.placement.moving
}

// server is the process of the server, which its guard has started.
func server(k *kit) int {
	guard := k.pool.Process("fake")
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", guard, guard))
	pid, _ := strconv.Atoi(strings.TrimSpace(string(b)))
	return pid
}

func processorsOf(t *testing.T, pid int) int {
	t.Helper()
	var has unix.CPUSet
	if err := unix.SchedGetaffinity(pid, &has); err != nil {
		t.Error(err)
	}
	return has.Count()
}
