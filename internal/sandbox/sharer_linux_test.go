package sandbox_test

import (
	"testing"

	"codemode/internal/sandbox"
	"codemode/internal/sandbox/sandboxtest"
	"codemode/internal/sandbox/watchdog"

	"golang.org/x/sys/unix"
)

// TestShareProcessor: a guest of each user's and a server in a sandbox, with all below it, share a processor, and have
// all of them back.
func TestShareProcessor(t *testing.T) {
	sandboxtest.EachUser(t, func(t *testing.T) {
		rt := newNative(t, sandbox.IsolationFull)
		sb, err := rt.Start(t.Context(), sandbox.Spec{
			Session: "shares", Files: idle, Boot: "idle.py", Policy: policyOf(sandbox.IsolationFull),
		})
		if err != nil {
			t.Fatal(err)
		}
		defer sb.Close()
		server, err := newHousehold(t).start(t, sandbox.Restrictions{}, "/bin/sh", "-c", "sleep 600 & echo; wait")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := server.Stdout().Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		want := func(n int) {
			t.Helper()
			tids := append(watchdog.Tree(server.Root()), sandbox.PID(sb))
			if len(tids) < 3 {
				t.Errorf("the server has %d processes", len(tids)-1)
			}
			for _, tid := range tids {
				var has unix.CPUSet
				if err := unix.SchedGetaffinity(tid, &has); err != nil || has.Count() != n {
					t.Errorf("process %d has %d processors, want %d: %v", tid, has.Count(), n, err)
				}
			}
		}
		var all unix.CPUSet
		if err := unix.SchedGetaffinity(0, &all); err != nil {
			t.Fatal(err)
		}
		want(all.Count())
		release, err := sb.(sandbox.Sharer).ShareProcessor(server.Root())
		if err != nil {
			t.Skip(err)
		}
		want(1)
		release()
		want(all.Count())
	})
}
