package escape

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"codemode/internal/require"

	"golang.org/x/sys/unix"
)

const (
	leaveBehind = "CODEMODE_TEST_LEAVE_DECOYS"
	ownSegments = "CODEMODE_TEST_OWN_SEGMENTS"
)

// TestKilledAmongDecoys kills a codemode that has its decoys out. Their process ends with it, the rest is removed by
// the next. Segments are the whole machine's, and other tests sweep them, too: these are in a namespace of their own.
func TestKilledAmongDecoys(t *testing.T) {
	if os.Getenv(ownSegments) == "" {
		self := exec.Command(os.Args[0], "-test.run=^TestKilledAmongDecoys$")
		self.Env = append(os.Environ(), ownSegments+"=1")
		self.SysProcAttr = &syscall.SysProcAttr{
			Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWIPC,
			UidMappings: []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}},
		}
		out, err := self.CombinedOutput()
		switch {
		case errors.Is(err, unix.EPERM), errors.Is(err, unix.ENOSPC):
			require.Lacking(t, "native", "no namespaces: %v", err)
		case err != nil:
			t.Fatalf("%v: %s", err, out)
		}
		return
	}
	if os.Getenv(leaveBehind) != "" {
		d, err := newDecoys()
		if err != nil {
			t.Fatal(err)
		}
		defer d.close()
		fmt.Println("victim:", d.victim.Pid(), "segment:", d.shmKey)
		_ = unix.Kill(os.Getpid(), unix.SIGKILL)
	}
	t.Setenv("TMPDIR", t.TempDir())
	self := exec.Command(os.Args[0], "-test.run=^TestKilledAmongDecoys$")
	self.Env = append(os.Environ(), leaveBehind+"=1")
	out, _ := self.Output()
	var victim, key int
	if _, err := fmt.Sscanf(string(out), "victim: %d segment: %d", &victim, &key); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for end := time.Now().Add(patience); !errors.Is(unix.Kill(victim, 0), unix.ESRCH); <-time.After(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the process outside outlives codemode")
		}
	}
	left, _ := filepath.Glob(filepath.Join(os.TempDir(), folderPrefix+"*"))
	if len(left) != 1 {
		t.Fatalf("it left %q", left)
	}
	if _, err := unix.SysvShmGet(key, segmentSize, 0); err != nil {
		t.Fatalf("it left no segment: %v", err)
	}
	sweep()
	if _, err := os.Stat(left[0]); err != nil {
		t.Errorf("a fresh folder, which may be another's, is removed: %v", err)
	}
	if _, err := unix.SysvShmGet(key, segmentSize, 0); !errors.Is(err, unix.ENOENT) {
		t.Errorf("the segment stays: %v", err)
	}
	old := time.Now().Add(-2 * staleAfter)
	if err := os.Chtimes(left[0], old, old); err != nil {
		t.Fatal(err)
	}
	sweep()
	if _, err := os.Stat(left[0]); !os.IsNotExist(err) {
		t.Errorf("an old folder stays: %v", err)
	}
}

func TestStaleSegment(t *testing.T) {
	dead := exec.Command("true")
	if err := dead.Run(); err != nil {
		t.Fatal(err)
	}
	gone, alive := dead.Process.Pid, os.Getpid()
	line := func(key, size, creator int) string {
		return fmt.Sprintf("%d 7 666 %d %d 0 0 0 0\n", key, size, creator)
	}
	for name, c := range map[string]struct {
		line string
		want bool
	}{
		"of a dead codemode":   {line(segmentPrefix|gone&0xffff, segmentSize, gone), true},
		"of one that lives":    {line(segmentPrefix|alive&0xffff, segmentSize, alive), false},
		"another program's":    {line(0x12340000|gone&0xffff, segmentSize, gone), false},
		"of another size":      {line(segmentPrefix|gone&0xffff, 1<<20, gone), false},
		"another's by its key": {line(segmentPrefix|(gone+1)&0xffff, segmentSize, gone), false},
		"creator out of sight": {line(segmentPrefix, segmentSize, 0), false},
		"head":                 {"key shmid perms size cpid\n", false},
	} {
		if id, got := staleSegment(c.line); got != c.want || got && id != 7 {
			t.Errorf("%s: %d, %v", name, id, got)
		}
	}
}

// TestDecoysEnd holds that nothing stays of decoys that were put away, and that they were untouched.
func TestDecoysEnd(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	d, err := newDecoys()
	if err != nil {
		t.Fatal(err)
	}
	if err := d.check(); err != nil {
		t.Error(err)
	}
	pid := d.victim.Pid()
	d.close()
	if err := unix.Kill(pid, 0); !errors.Is(err, unix.ESRCH) {
		t.Errorf("the process outside: %v", err)
	}
	if left, _ := os.ReadDir(os.TempDir()); len(left) > 0 {
		t.Errorf("there is still %v", left)
	}
	if table, err := os.ReadFile("/proc/sysvipc/shm"); err != nil ||
		strings.Contains(string(table), fmt.Sprint(" ", d.shmKey, " ")) {
		t.Errorf("the segment stays: %v", err)
	}
}
