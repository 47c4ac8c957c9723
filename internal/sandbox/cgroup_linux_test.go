package sandbox

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
)

func TestCgroupDirs(t *testing.T) {
	for _, tt := range []struct {
		name, mountinfo, self, mount, own string
	}{
		{
			"v2",
			"35 24 0:30 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n",
			"0::/user.slice/user-1000.slice/user@1000.service/app.slice/codemode.scope\n",
			"/sys/fs/cgroup", "/sys/fs/cgroup/user.slice/user-1000.slice/user@1000.service/app.slice/codemode.scope",
		},
		{
			"hybrid",
			"35 24 0:30 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n",
			"4:memory:/x\n0::/y\n",
			"/sys/fs/cgroup/unified", "/sys/fs/cgroup/unified/y",
		},
		{"v1", "35 24 0:30 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n", "4:memory:/x\n", "", ""},
		{"none", "", "", "", ""},
	} {
		mount, own := cgroupDirs(tt.mountinfo, tt.self)
		if mount != tt.mount || own != tt.own {
			t.Errorf("%s: %q and %q, want %q and %q", tt.name, mount, own, tt.mount, tt.own)
		}
	}
}

// fakeGroup is a directory with the files of a delegated group. What is written to it stays there.
func fakeGroup(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestTakeDelegated(t *testing.T) {
	self := strconv.Itoa(os.Getpid()) + "\n"
	delegated := fakeGroup(
		t,
		map[string]string{"cgroup.controllers": "cpu memory pids", "cgroup.procs": self, "cgroup.subtree_control": ""},
	)
	takeDelegated(delegated)
	if b, err := os.ReadFile(filepath.Join(delegated, groupPrefix+"host", "cgroup.procs")); err != nil ||
		string(b)+"\n" != self {
		t.Errorf("codemode did not move into a leaf: %q, %v", b, err)
	}
	for name, files := range map[string]map[string]string{
		"somebody else's":   {"cgroup.controllers": "cpu memory pids", "cgroup.procs": self + "1\n"},
		"without the means": {"cgroup.controllers": "cpu", "cgroup.procs": self},
		"no group":          {},
	} {
		dir := fakeGroup(t, files)
		if got := takeDelegated(dir); got != nil {
			t.Errorf("%s: takes %v", name, got)
		}
		if _, err := os.Stat(filepath.Join(dir, groupPrefix+"host")); err == nil {
			t.Errorf("%s: was rearranged", name)
		}
	}
}

func TestIsOurs(t *testing.T) {
	child := exec.Command("sleep", "60")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = child.Process.Kill()
		_ = child.Wait()
	}()
	for pid, want := range map[int]bool{
		os.Getpid(): true, child.Process.Pid: true, os.Getppid(): false, 1: false, 0: false,
	} {
		if got := isOurs(strconv.Itoa(pid)); got != want {
			t.Errorf("isOurs(%d) = %v", pid, got)
		}
	}
}

func TestCgroupSettings(t *testing.T) {
	dir := t.TempDir()
	p := DefaultPolicy()
	p.CPUs = 1.5
	if err := (&cgroup{dir}).set(p); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{
		"memory.max": "536870912", "memory.swap.max": "0", "memory.oom.group": "1", "pids.max": "128", "cpu.max": "150000 100000",
	} {
		if b, err := os.ReadFile(filepath.Join(dir, file)); err != nil || string(b) != want {
			t.Errorf("%s is %q, %v; want %q", file, b, err, want)
		}
	}
	if err := (&cgroup{filepath.Join(dir, "gone")}).set(p); err == nil {
		t.Error("limits that could not be set are no error")
	}
}

func TestOutOfMemory(t *testing.T) {
	for content, want := range map[string]bool{
		"low 0\nhigh 0\nmax 12\noom 1\noom_kill 3\noom_group_kill 1\n": true,
		"low 0\nhigh 0\nmax 12\noom 0\noom_kill 0\n":                   false,
		"": false,
	} {
		g := cgroup{fakeGroup(t, map[string]string{"memory.events": content})}
		if got := g.outOfMemory(); got != want {
			t.Errorf("%q: %v", content, got)
		}
	}
}
