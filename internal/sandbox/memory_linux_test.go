package sandbox_test

import (
	"bufio"
	"context"
	"embed"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

	"codemode/internal/require"
	"codemode/internal/sandbox"
	"codemode/internal/sandbox/sandboxtest"
)

//go:embed testdata/crowd
var crowd embed.FS

// groupEnv names the group of the version 1 of cgroups that guests are moved to, which counts what they use and
// limits nothing.
const groupEnv = "CODEMODE_TEST_GROUP"

const memoryGroups = "/sys/fs/cgroup/memory"

// measuringGroup makes that group, which an ordinary user may use, too.
func measuringGroup(t *testing.T) string {
	if dir := os.Getenv(groupEnv); dir != "" {
		return dir
	}
	dir, err := os.MkdirTemp(memoryGroups, "codemode-test-")
	if err != nil {
		require.Lacking(t, "memcg", "a group that counts memory cannot be made: %v", err)
	}
	t.Cleanup(func() {
		if err := os.Remove(dir); err != nil {
			t.Errorf("removing a group: %v", err)
		}
	})
	for name, mode := range map[string]os.FileMode{
		"": 0o755, "cgroup.procs": 0o666, "memory.max_usage_in_bytes": 0o666,
	} {
		if err := os.Chmod(filepath.Join(dir, name), mode); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv(groupEnv, dir)
	return dir
}

// crowdTime is for how long attacks go on: those that have the guest stopped again and again hold up themselves.
const crowdTime = 6 * time.Second

// TestMemoryAtMost holds what a guest can use at most where no cgroup limits it, by a group that only counts.
func TestMemoryAtMost(t *testing.T) {
	if testing.Short() {
		t.Skip("it keeps the processors busy for a minute")
	}
	modes, limits := []string{"greedy", "mapping", "reading", "forking", "locked", "ancestors"}, []int64{192}
	if require.Named("soak") {
		modes = append(modes, "idle", "resuming", "spinning", "crowded", "unsharing", "populating", "thread", "halves", "executing")
		limits = append(limits, 512)
	}
	dir := measuringGroup(t)
	sandboxtest.EachUser(t, func(t *testing.T) {
		attack := func(rt sandbox.Runtime, isolation sandbox.Isolation, mode string, megabytes int64) {
			policy := policyOf(isolation)
			policy.Memory = megabytes << 20
			clock := crowdTime
			if mode == "ancestors" { // which takes 30 MB a second
				clock *= 4
			}
			exit, peak := inCrowd(t, rt, dir, mode, policy, clock)
			t.Logf("%s, %s held %d MB at most, of %d", isolation, mode, peak>>20, megabytes)
			if peak > policy.Memory*3/2 {
				t.Errorf("%s, %s held %d MB of %d", isolation, mode, peak>>20, megabytes)
			}
			if exit.Cause == sandbox.ExitSelf {
				t.Errorf("%s, %s of %d MB ended as %+v", isolation, mode, megabytes, exit)
			}
		}
		full, reduced := newNative(t, sandbox.IsolationFull), newNative(t, sandbox.IsolationReduced)
		if os.Geteuid() == 0 { // what looks at memory is the same as for an ordinary user, as whom all attacks are made
			limits = limits[len(limits)-1:]
		}
		for _, megabytes := range limits {
			for _, mode := range modes {
				attack(full, sandbox.IsolationFull, mode, megabytes)
			}
			attack(reduced, sandbox.IsolationReduced, "thread", megabytes) // which may have but one process
		}
		besideSpinners(t, 4)
		for _, mode := range modes[:min(4, len(modes))] {
			attack(full, sandbox.IsolationFull, mode, limits[len(limits)-1])
		}
	})
}

// besideSpinners keeps the processors busy until the test ends: what looks at memory gets them late.
func besideSpinners(t *testing.T, n int) {
	for range n {
		cmd := exec.Command("/bin/sh", "-c", "while :; do :; done")
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL} // each with a share of its own
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = cmd.Process.Kill()
			_ = cmd.Wait() // it was killed
		})
	}
}

// TestMemoryKeptTo holds that nothing ends who keeps to the limit.
func TestMemoryKeptTo(t *testing.T) {
	if testing.Short() {
		t.Skip("it keeps the processors busy for a minute")
	}
	dir := measuringGroup(t)
	limits := []int64{192}
	if require.Named("soak") {
		limits = append(limits, 512)
	}
	sandboxtest.EachUser(t, func(t *testing.T) {
		rt := newNative(t, sandbox.IsolationFull)
		for _, mode := range []string{"pool", "commands", "server", "alone"} {
			for _, limit := range limits {
				policy := policyOf(sandbox.IsolationFull)
				policy.Memory = limit << 20
				exit, peak := inCrowd(t, rt, dir, mode, policy, time.Minute)
				if exit.Cause != sandbox.ExitSelf || exit.Code != 0 || exit.Signal != 0 {
					t.Errorf("%s held %d MB of %d and ended as %+v: %s", mode, peak>>20, limit, exit, exit.Stderr)
				}
			}
		}
	})
}

// inCrowd has a guest do one thing of crowd.py for so long at most, and returns how it ended, and what it used at
// most.
func inCrowd(
	t *testing.T, rt sandbox.Runtime, group, mode string, policy sandbox.Policy, clock time.Duration,
) (sandbox.Exit, int64) {
	t.Helper()
	files, err := fs.Sub(crowd, "testdata/crowd")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	sb, err := rt.Start(ctx, sandbox.Spec{
		Session: "crowd", Files: files, Boot: "crowd.py", Policy: policy,
		Env: []string{"CODEMODE_TEST_CROWD=" + mode, fmt.Sprint("CODEMODE_TEST_LIMIT=", policy.Memory)},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer sb.Close()
	if sb.Enforced().Memory != "watchdog" {
		t.Skipf("memory is limited by %s here", sb.Enforced().Memory)
	}
	if line, err := bufio.NewReader(io.LimitReader(sb.Channel(), 6)).ReadString('\n'); err != nil {
		t.Fatalf("the guest said %q: %v", line, err)
	}
	write(t, group, "cgroup.procs", strconv.Itoa(sandbox.PID(sb)))
	write(t, group, "memory.max_usage_in_bytes", "0")
	if _, err := io.WriteString(sb.Channel(), "\n"); err != nil {
		t.Fatal(err)
	}
	defer time.AfterFunc(clock, sb.Kill).Stop()
	<-sb.Done()
	text, err := os.ReadFile(filepath.Join(group, "memory.max_usage_in_bytes"))
	if err != nil {
		t.Fatal(err)
	}
	peak, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return sb.Exit(), peak
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0); err != nil {
		t.Fatal(err)
	}
}

const sumsSizes = `
import os

sizes = [os.statvfs(folder) for folder in ("/tmp", "/workspace", "/dev/shm")]
os.write(3, b"%d\n" % sum(size.f_frsize * size.f_blocks for size in sizes))
`

// TestFilesWithinMemory: where a watchdog holds a guest to its memory, no more fits into its folders in memory.
func TestFilesWithinMemory(t *testing.T) {
	sandboxtest.EachUser(t, func(t *testing.T) {
		rt := newNative(t, sandbox.IsolationFull)
		policy := policyOf(sandbox.IsolationFull)
		policy.Memory = 64 << 20
		sb, err := rt.Start(t.Context(), sandbox.Spec{
			Session: "sizes", Files: fstest.MapFS{"sizes.py": {Data: []byte(sumsSizes)}}, Boot: "sizes.py", Policy: policy,
		})
		if err != nil {
			t.Fatal(err)
		}
		defer sb.Close()
		if sb.Enforced().Memory != "watchdog" {
			t.Skip("a cgroup holds it")
		}
		b, err := io.ReadAll(sb.Channel())
		if err != nil {
			t.Fatal(err)
		}
		total, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
		most := policy.Memory + 3*int64(os.Getpagesize()) // each is rounded
		if err != nil || total == 0 || total > most {
			t.Errorf("%q bytes fit into them, of %d, %v", b, most, err)
		}
	})
}
