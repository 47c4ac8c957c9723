package sandbox_test

import (
	"errors"
	"os"
	"os/exec"
	"testing"

	"codemode/internal/require"
	"codemode/internal/sandbox"
	"codemode/internal/sandbox/sandboxtest"
)

// newNative returns a runtime that works here, or skips the test.
func newNative(t *testing.T, isolation sandbox.Isolation) sandbox.Runtime {
	t.Helper()
	cache, err := sandbox.CacheForTests()
	if err != nil {
		t.Fatal(err)
	}
	// Without a user namespace root's guests are somebody else, who may not enter a temporary directory.
	if err := os.Chmod(cache, 0o755); err != nil {
		t.Fatal(err)
	}
	rt := sandbox.NewNative(sandbox.NativeOptions{
		CacheDir:  cache,
		Python:    sandbox.PythonSource{CacheDir: cache},
		Isolation: isolation,
	})
	if _, err := rt.Probe(t.Context()); err != nil {
		var unavailable *sandbox.UnavailableError
		if !errors.As(err, &unavailable) {
			t.Fatal(err)
		}
		require.Lacking(t, "native", "%s: %v", unavailable.Code, err)
	}
	return rt
}

func policyOf(isolation sandbox.Isolation) sandbox.Policy {
	p := sandbox.DefaultPolicy()
	p.Isolation = isolation
	return p
}

func TestNativeContract(t *testing.T) {
	sandboxtest.EachUser(t, func(t *testing.T) {
		rt := newNative(t, sandbox.IsolationFull)
		before := sandboxtest.TakeLeftovers(t)
		sandboxtest.Run(t, rt, policyOf(sandbox.IsolationFull))
		before.Check(t)
	})
}

func TestReduced(t *testing.T) {
	sandboxtest.EachUser(t, func(t *testing.T) {
		rt := newNative(t, sandbox.IsolationReduced)
		before := sandboxtest.TakeLeftovers(t)
		sandboxtest.Run(t, rt, policyOf(sandbox.IsolationReduced))
		sandboxtest.Escapes(t, rt, policyOf(sandbox.IsolationReduced))
		before.Check(t)
	})
}

func TestBubblewrap(t *testing.T) {
	if _, err := exec.LookPath("bwrap"); err != nil {
		require.Lacking(t, "bwrap", "bubblewrap is not installed: %v", err)
	}
	sandboxtest.EachUser(t, func(t *testing.T) {
		rt := newNative(t, sandbox.IsolationFull)
		sandbox.UseMethod(rt, "bwrap")
		before := sandboxtest.TakeLeftovers(t)
		sandboxtest.Run(t, rt, policyOf(sandbox.IsolationFull))
		sandboxtest.Escapes(t, rt, policyOf(sandbox.IsolationFull))
		before.Check(t)
	})
}
