package sandbox_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"codemode/internal/sandbox"
	"codemode/internal/sandbox/sandboxtest"
)

// testUser is an ordinary user of no importance, other than the one root's guests run as.
const testUser = 61234

// asUser says that this process was started by eachUser.
const asUser = "CODEMODE_TEST_AS_USER"

// eachUser runs a test as root and as an ordinary user, or as the one of them that it is started by.
func eachUser(t *testing.T, test func(t *testing.T)) {
	if os.Geteuid() != 0 {
		t.Run("user", test)
		return
	}
	t.Run("root", test)
	t.Run("user", func(t *testing.T) { rerunAs(t, testUser) })
}

// rerunAs runs the parent of the current test again in another process, as another user.
func rerunAs(t *testing.T, uid uint32) {
	t.Helper()
	name, _, _ := strings.Cut(t.Name(), "/")
	cmd := exec.Command("/proc/self/exe", "-test.v", "-test.run=^"+name+"$", "-test.timeout=10m", "-test.parallel=4",
		fmt.Sprintf("-test.short=%t", testing.Short()))
	cmd.Dir = "/"
	cmd.Env = append(os.Environ(), asUser+"=1", "HOME=/nonexistent", "TMPDIR=/tmp")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}, Pdeathsig: syscall.SIGKILL}
	out, err := cmd.CombinedOutput()
	if err != nil {
		if errors.Is(err, os.ErrPermission) {
			sandboxtest.Missing(t, "user", "becoming user %d: %v", uid, err)
		}
		t.Errorf("as user %d: %v\n%s", uid, err, out)
	}
	if skip := "--- SKIP: " + name + "/user"; strings.Contains(string(out), skip+" ") {
		_, why, _ := strings.Cut(string(out), skip)
		sandboxtest.Missing(t, "user", "as user %d: %s", uid, why)
	}
	if !strings.Contains(string(out), "--- PASS: "+name+"/user ") && err == nil {
		t.Errorf("as user %d nothing ran:\n%s", uid, out)
	}
}

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
		sandboxtest.Missing(t, "native", "%s: %v", unavailable.Code, err)
	}
	return rt
}

func policyOf(isolation sandbox.Isolation) sandbox.Policy {
	p := sandbox.DefaultPolicy()
	p.Isolation = isolation
	return p
}

func TestNativeContract(t *testing.T) {
	eachUser(t, func(t *testing.T) {
		rt := newNative(t, sandbox.IsolationFull)
		before := sandboxtest.TakeLeftovers(t)
		sandboxtest.Run(t, rt, policyOf(sandbox.IsolationFull))
		before.Check(t)
	})
}

func TestNativeEscapes(t *testing.T) {
	eachUser(t, func(t *testing.T) {
		rt := newNative(t, sandbox.IsolationFull)
		before := sandboxtest.TakeLeftovers(t)
		t.Run("guest", func(t *testing.T) { sandboxtest.Escapes(t, rt, smallPolicy(sandbox.IsolationFull), nil) })
		before.Check(t)
	})
}

// reducedKnown are the attempts that succeed without namespaces.
var reducedKnown = map[string]string{
	"stat_probe":     "Landlock does not hide that a file exists",
	"workspace_fill": "a directory of the host's disk has no quota",
	"tmp_fill":       "a directory of the host's disk has no quota",
	"inode_fill":     "a directory of the host's disk has no quota",
	"thread_bomb":    "threads are limited by memory alone",
	"memory_tmpfs":   "files are on the host's disk, and not in memory",
}

func TestReduced(t *testing.T) {
	eachUser(t, func(t *testing.T) {
		rt := newNative(t, sandbox.IsolationReduced)
		before := sandboxtest.TakeLeftovers(t)
		sandboxtest.Run(t, rt, policyOf(sandbox.IsolationReduced))
		t.Run("guest", func(t *testing.T) {
			sandboxtest.Escapes(t, rt, smallPolicy(sandbox.IsolationReduced), reducedKnown)
		})
		before.Check(t)
	})
}

func TestBubblewrap(t *testing.T) {
	if _, err := exec.LookPath("bwrap"); err != nil {
		sandboxtest.Missing(t, "bwrap", "bubblewrap is not installed: %v", err)
	}
	eachUser(t, func(t *testing.T) {
		rt := newNative(t, sandbox.IsolationFull)
		sandbox.UseMethod(rt, "bwrap")
		before := sandboxtest.TakeLeftovers(t)
		sandboxtest.Run(t, rt, policyOf(sandbox.IsolationFull))
		t.Run("guest", func(t *testing.T) {
			sandboxtest.Escapes(t, rt, smallPolicy(sandbox.IsolationFull), bubblewrapKnown)
		})
		before.Check(t)
	})
}

// bubblewrapKnown are the attempts that succeed in the mounts bubblewrap makes.
var bubblewrapKnown = map[string]string{
	"dlopen_noexec": "its tmpfs cannot be noexec, and Landlock does not mediate mmap",
	"ldso_noexec":   "its tmpfs cannot be noexec, and Landlock does not mediate mmap",
	"inode_fill":    "its tmpfs cannot limit inodes",
	"proc_leaks":    "its /proc is whole",
}

// smallPolicy keeps attempts to use up memory and disk short.
func smallPolicy(isolation sandbox.Isolation) sandbox.Policy {
	p := policyOf(isolation)
	p.Memory = 192 << 20
	p.TmpSize, p.WorkSize, p.FileSize = 16<<20, 32<<20, 24<<20
	p.Processes = 64
	return p
}
