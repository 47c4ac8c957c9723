package sandbox_test

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"codemode/internal/sandbox"
	"codemode/internal/sandbox/python"
	"codemode/internal/sandbox/sandboxtest"
)

// nestedEnv has the test binary use the cache it names in the user namespace it finds itself in.
const nestedEnv = "CODEMODE_TEST_NESTED"

// TestOneIDRoot: in a rootless container codemode is root, and there is no other user to become.
func TestOneIDRoot(t *testing.T) {
	if cache := os.Getenv(nestedEnv); cache != "" {
		rt := sandbox.NewNative(sandbox.NativeOptions{CacheDir: cache, Python: python.Source{CacheDir: cache}})
		if _, err := rt.Probe(t.Context()); err != nil {
			t.Fatal(err)
		}
		return
	}
	nest(t)
}

// TestNamespacesUsedUp: the kernel says "no space left on device", which is about no device.
func TestNamespacesUsedUp(t *testing.T) {
	if cache := os.Getenv(nestedEnv); cache != "" {
		if err := os.WriteFile("/proc/sys/user/max_user_namespaces", []byte("0"), 0); err != nil {
			t.Fatal(err)
		}
		rt := sandbox.NewNative(sandbox.NativeOptions{CacheDir: cache, Python: python.Source{CacheDir: cache}})
		_, err := rt.Probe(t.Context())
		var unavailable *sandbox.UnavailableError
		if !errors.As(err, &unavailable) || unavailable.Code != "userns-limit" {
			t.Fatalf("error %v, want code userns-limit", err)
		}
		if !strings.Contains(err.Error(), "user.max_user_namespaces=0") || len(unavailable.Remedy) == 0 {
			t.Errorf("%v, %q: neither cause nor remedy", err, unavailable.Remedy)
		}
		return
	}
	nest(t)
}

// nest runs the current test again as the root of a new user namespace that has no other user.
func nest(t *testing.T) {
	t.Helper()
	newNative(t, sandbox.IsolationFull) // or skip
	// Without bubblewrap on PATH, which would be tried next.
	cmd := exec.Command("/proc/self/exe", "-test.v", "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), nestedEnv+"="+sandboxtest.PythonCache(t), "PATH=/nonexistent")
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}},
		Pdeathsig:   syscall.SIGKILL,
	}
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Errorf("%v\n%s", err, out)
	}
}
