package sandbox_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"codemode/internal/sandbox"
	"codemode/internal/sandbox/python"
	"codemode/internal/sandbox/sandboxtest"

	"golang.org/x/sys/unix"
)

var idle = fstest.MapFS{"idle.py": {Data: []byte("import time\ntime.sleep(3600)\n")}}

// TestAhead: a second stage that was started before anything was known of the guest becomes the first one, and no other.
func TestAhead(t *testing.T) {
	sandboxtest.EachUser(t, func(t *testing.T) {
		newNative(t, sandbox.IsolationFull) // or skip
		left := sandboxtest.TakeLeftovers(t)
		ahead := sandbox.StartAhead()
		started := sandbox.AheadPID(ahead)
		if started == 0 {
			t.Fatal("nothing was started ahead")
		}
		rt := sandbox.NewNative(sandbox.NativeOptions{
			CacheDir: cacheDir(t), Python: python.Source{CacheDir: sandboxtest.PythonCache(t)}, Ahead: ahead,
		})
		sandbox.UseMethod(rt, "userns")
		for n := range 2 {
			sb, err := rt.Start(t.Context(), sandbox.Spec{
				Session: "ahead", Files: idle, Boot: "idle.py", Policy: policyOf(sandbox.IsolationFull),
			})
			if err != nil {
				t.Fatal(err)
			}
			if sb.Enforced().Memory != "cgroup" && (sandbox.PID(sb) == started) != (n == 0) {
				t.Errorf("guest %d is process %d, and %d was started ahead", n, sandbox.PID(sb), started)
			}
			if err := sb.Close(); err != nil {
				t.Error(err)
			}
		}
		ahead.Close()
		left.Check(t)
	})
}

// TestAheadUnused: what becomes no guest is gone when it is closed, also where somebody has killed it.
func TestAheadUnused(t *testing.T) {
	newNative(t, sandbox.IsolationFull) // or skip
	left := sandboxtest.TakeLeftovers(t)
	for _, killed := range []bool{false, true} {
		ahead := sandbox.StartAhead()
		if pid := sandbox.AheadPID(ahead); killed {
			process, err := os.FindProcess(pid)
			if err == nil {
				err = process.Kill()
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		ahead.Close()
		ahead.Close()
	}
	left.Check(t)
}

const countsMounts = `
import os

os.write(3, b"%d\n" % sum(os.path.isfile("/workspace/" + name) for name in os.listdir("/workspace")))
`

// TestManyMounts: there are more of them than one message to the second stage takes.
func TestManyMounts(t *testing.T) {
	const many = 300
	rt := newNative(t, sandbox.IsolationFull)
	guest, file := t.TempDir(), filepath.Join(cacheDir(t), "file")
	for name, text := range map[string]string{filepath.Join(guest, "guest.py"): countsMounts, file: "text"} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	spec := sandbox.Spec{
		Session: "many", Files: os.DirFS(guest), Boot: "guest.py", Policy: policyOf(sandbox.IsolationFull),
	}
	for n := range many {
		spec.Mounts = append(spec.Mounts, sandbox.Mount{Host: file, Name: fmt.Sprint(n)})
	}
	sb, err := rt.Start(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	defer sb.Close()
	b, err := io.ReadAll(sb.Channel())
	if err != nil || string(b) != fmt.Sprintln(many) {
		t.Errorf("the guest sees %q of %d files: %v", b, many, err)
	}
}

// TestDescriptorsInFlight: a start that cannot pass descriptors, for its user's programs hold too many that nobody has
// received, fails and says so.
func TestDescriptorsInFlight(t *testing.T) {
	sandboxtest.EachUser(t, func(t *testing.T) {
		if os.Geteuid() == 0 {
			return // who is not limited
		}
		rt := newNative(t, sandbox.IsolationFull)
		var limit unix.Rlimit
		must := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		must(unix.Getrlimit(unix.RLIMIT_NOFILE, &limit))
		must(unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 256, Max: limit.Max}))
		defer func() { must(unix.Setrlimit(unix.RLIMIT_NOFILE, &limit)) }()
		pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		must(err)
		defer unix.Close(pair[0])
		defer unix.Close(pair[1])
		for err == nil {
			err = unix.Sendmsg(pair[0], []byte{0}, unix.UnixRights(slices.Repeat(pair[1:], 100)...), nil, 0)
		}
		if !errors.Is(err, unix.ETOOMANYREFS) {
			t.Fatal(err)
		}
		_, err = rt.Start(t.Context(), sandbox.Spec{
			Session: "flight", Files: idle, Boot: "idle.py", Policy: policyOf(sandbox.IsolationFull),
		})
		if !errors.Is(err, unix.ETOOMANYREFS) || !strings.Contains(err.Error(), "as many descriptors that were sent") {
			t.Errorf("the error is %v", err)
		}
	})
}
