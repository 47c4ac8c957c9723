package sandbox_test

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"codemode/internal/require"
	"codemode/internal/sandbox"
	"codemode/internal/sandbox/python"
	"codemode/internal/sandbox/sandboxtest"
)

// cacheDir is a cache directory of a test's own.
func cacheDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "codemode-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	// Without a user namespace root's guests are somebody else, who may not enter a temporary directory.
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// newNative returns a runtime that works here, or skips the test.
func newNative(t *testing.T, isolation sandbox.Isolation) sandbox.Runtime {
	t.Helper()
	return startNative(t, cacheDir(t), isolation)
}

// startNative has a guest started from a cache.
func startNative(t *testing.T, cache string, isolation sandbox.Isolation) sandbox.Runtime {
	t.Helper()
	rt := sandbox.NewNative(sandbox.NativeOptions{
		CacheDir:  cache,
		Python:    python.Source{CacheDir: sandboxtest.PythonCache(t)},
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

// TestNativePool holds that a sandbox which was started for nobody yet is as good as one that was started for a session.
func TestNativePool(t *testing.T) {
	if testing.Short() {
		t.Skip("what codemode's own process does for it, TestNativeContract and the tests of Pool do, too")
	}
	before := sandboxtest.TakeLeftovers(t)
	pool := sandbox.NewPool(newNative(t, sandbox.IsolationFull), 1, 0, nil)
	sandboxtest.Run(t, pool, policyOf(sandbox.IsolationFull))
	if err := pool.Close(); err != nil {
		t.Error(err)
	}
	before.Check(t)
}

// TestCacheIsClosed holds that nobody else enters an ordinary user's cache, whatever its mode was.
func TestCacheIsClosed(t *testing.T) {
	sandboxtest.EachUser(t, func(t *testing.T) {
		cache := cacheDir(t) // which others may enter
		if err := os.Mkdir(filepath.Join(cache, "guest"), 0o755); err != nil {
			t.Fatal(err)
		}
		startNative(t, cache, sandbox.IsolationFull)
		want := fs.FileMode(0o700)
		if os.Geteuid() == 0 {
			want = 0o755 // its guests are somebody else
		}
		for _, dir := range []string{".", "guest"} {
			if fi, err := os.Stat(filepath.Join(cache, dir)); err != nil || fi.Mode().Perm() != want {
				t.Errorf("%s: %v, %v; want mode %v", dir, fi, err, want)
			}
		}
	})
}

func TestReduced(t *testing.T) {
	if testing.Short() {
		t.Skip("what codemode's own process does for it, TestNativeContract does, too")
	}
	sandboxtest.EachUser(t, func(t *testing.T) {
		rt := newNative(t, sandbox.IsolationReduced)
		before := sandboxtest.TakeLeftovers(t)
		sandboxtest.Run(t, rt, policyOf(sandbox.IsolationReduced))
		sandboxtest.Escapes(t, rt, policyOf(sandbox.IsolationReduced))
		before.Check(t)
	})
}

func TestBubblewrap(t *testing.T) {
	if testing.Short() {
		t.Skip("what codemode's own process does for it, TestNativeContract does, too")
	}
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
