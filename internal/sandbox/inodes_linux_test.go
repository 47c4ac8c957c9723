package sandbox_test

import (
	"os"
	"testing"
	"testing/fstest"
	"time"

	"codemode/internal/require"
	"codemode/internal/sandbox"
	"codemode/internal/sandbox/sandboxtest"
)

// TestInodes: files in memory count as that by their number, where it is not limited.
func TestInodes(t *testing.T) {
	if _, err := os.Stat("/usr/bin/bwrap"); err != nil {
		require.Lacking(t, "bwrap", "bubblewrap is not installed: %v", err)
	}
	sandboxtest.EachUser(t, func(t *testing.T) {
		rt := newNative(t, sandbox.IsolationFull)
		sandbox.UseMethod(rt, "bwrap")
		const code = `import os, time
for n in range(200_000):
    os.symlink("x", "/tmp/%d" % n)
time.sleep(20)`
		policy := policyOf(sandbox.IsolationFull)
		policy.Memory = 64 << 20
		sb, err := rt.Start(t.Context(), sandbox.Spec{
			Session: "inodes", Files: fstest.MapFS{"boot.py": {Data: []byte(code)}}, Boot: "boot.py", Policy: policy,
		})
		if err != nil {
			t.Fatal(err)
		}
		defer sb.Close()
		if sb.Enforced().Memory != "watchdog" {
			t.Skipf("memory is limited by %s here", sb.Enforced().Memory)
		}
		select {
		case <-sb.Done():
		case <-time.After(time.Minute):
			t.Fatal("it goes on")
		}
		if exit := sb.Exit(); exit.Cause != sandbox.ExitMemory {
			t.Errorf("it ended as %+v", exit)
		}
	})
}
