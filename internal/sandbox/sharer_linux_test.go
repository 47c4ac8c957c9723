package sandbox_test

import (
	"testing"

	"codemode/internal/sandbox"
	"codemode/internal/sandbox/sandboxtest"

	"golang.org/x/sys/unix"
)

// TestShareProcessor: a guest of each user's shares a processor, and has all of them back.
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
		processors := func() int {
			t.Helper()
			var has unix.CPUSet
			if err := unix.SchedGetaffinity(sandbox.PID(sb), &has); err != nil {
				t.Fatal(err)
			}
			return has.Count()
		}
		before := processors()
		release, err := sb.(sandbox.Sharer).ShareProcessor()
		if err != nil {
			t.Skip(err)
		}
		if n := processors(); n != 1 {
			t.Errorf("the guest has %d processors", n)
		}
		release()
		if n := processors(); n != before {
			t.Errorf("the guest has %d processors afterwards, and had %d", n, before)
		}
	})
}
