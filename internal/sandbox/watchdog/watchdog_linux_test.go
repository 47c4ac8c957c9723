package watchdog_test

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"codemode/internal/sandbox/sandboxtest"
	"codemode/internal/sandbox/watchdog"

	"golang.org/x/sys/unix"
)

// TestUnreadableMemoryCounts: a process that may not be looked at closely is not one without memory.
func TestUnreadableMemoryCounts(t *testing.T) {
	sandboxtest.EachUser(t, func(t *testing.T) {
		sleep, err := exec.LookPath("sleep")
		if err != nil {
			t.Skip(err)
		}
		program, err := os.ReadFile(sleep)
		if err != nil {
			t.Fatal(err)
		}
		unreadable := filepath.Join(t.TempDir(), "sleep") // and hence not dumpable
		if err := os.WriteFile(unreadable, program, 0o111); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(unreadable, "60")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		defer func() {
			_ = cmd.Process.Kill()
			_ = cmd.Wait() // it was killed
		}()
		rollup := fmt.Sprintf("/proc/%d/smaps_rollup", cmd.Process.Pid)
		if _, err := os.ReadFile(rollup); err == nil && os.Geteuid() != 0 {
			t.Errorf("%s can be read: this test would prove nothing", rollup)
		}
		if got := watchdog.ExactMemory(cmd.Process.Pid); got == 0 {
			t.Error("the process counts as having no memory")
		}
	})
	if got := watchdog.ExactMemory(0); got != 0 {
		t.Errorf("a process that does not exist holds %d bytes", got)
	}
}

// TestPriority: a watch that a guest makes cost much comes first no longer, and does again when it costs little.
func TestPriority(t *testing.T) {
	runtime.LockOSThread() // never unlocked: the thread, whose priority is another by now, ends with this goroutine
	if first := watchdog.RealTimes(time.Millisecond, 50*time.Millisecond, 1000); slices.Contains(first, false) {
		t.Error("one of two percent does not come first")
	}
	first := watchdog.RealTimes(20*time.Millisecond, 50*time.Millisecond, 100)
	if n := slices.Index(first, false); n < 1 || n > 5 || slices.Contains(first[n:], true) {
		t.Errorf("one of 40 percent came first: %v", first)
	}
}

// startShell starts a script in a group of its own, which ends with the test, and reads what it says by lines.
func startShell(t *testing.T, script string) (*os.Process, *bufio.Scanner) {
	t.Helper()
	cmd := exec.Command("/bin/sh", "-c", script)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	said, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait() // it was killed, or has ended
	})
	return cmd.Process, bufio.NewScanner(said)
}

// never is what is due of a watch that has nothing else to do.
func never() bool { return false }

// TestInterrupted: who is counted for long stands still, and is left for what is due meanwhile.
func TestInterrupted(t *testing.T) {
	guest, lines := startShell(t, "x=$(seq 1000000); for i in $(seq 20); do (while :; do sleep 60; done) & done; echo all; wait")
	if !lines.Scan() {
		t.Fatal("it has started nothing")
	}
	calls, due := 0, true
	w := watchdog.Open(watchdog.Guest{PID: guest.Pid, Limit: 100 << 20}, func() bool { // of 7 MB that all share
		calls++
		return due
	})
	defer w.Close()
	if over, next := w.Look(); over || next != 0 || calls != 1 {
		t.Fatalf("over its limit %v, next after %v, asked %d times", over, next, calls)
	}
	if stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", guest.Pid)); err != nil || !strings.Contains(string(stat), " T ") {
		t.Errorf("it goes on: %s, %v", stat, err)
	}
	due = false
	if over, next := w.Look(); over || next == 0 {
		t.Errorf("over its limit %v, next after %v", over, next)
	}
}

// TestRest: many processes that do nothing are listed seldom.
func TestRest(t *testing.T) {
	runtime.LockOSThread() // whose processor time is counted
	defer runtime.UnlockOSThread()
	guest, lines := startShell(t, "for i in $(seq 300); do sleep 60 & done; echo all; wait")
	if !lines.Scan() {
		t.Fatal("it has started nothing")
	}
	w := watchdog.Open(watchdog.Guest{PID: guest.Pid, Limit: 64 << 30}, never)
	defer w.Close()
	_, _ = w.Look()
	before, _ := w.Listings()
	least := time.Hour
	for began := time.Now(); time.Since(began) < time.Second; {
		over, next := w.Look()
		if over {
			t.Fatal("it is over 64 GiB")
		}
		_, rest := w.Listings()
		least = min(least, rest)
		<-time.After(next)
	}
	if n, _ := w.Listings(); n-before > int(time.Second/least)+2 || least <= 50*time.Millisecond {
		t.Errorf("%d listings in a second, which were to rest for %v", n-before, least)
	}
}

// TestAsleep: mappings are counted once of who sleeps, and again of who has run.
func TestAsleep(t *testing.T) {
	guest, _ := startShell(t, "trap 'n=$n$(seq 20000)' USR1; sleep 60 & while :; do wait; done")
	w := watchdog.Open(watchdog.Guest{PID: guest.Pid, Limit: 64 << 30}, never)
	defer w.Close()
	counts := func(want int) (counted int64) {
		t.Helper()
		for deadline := time.Now().Add(10 * time.Second); ; <-time.After(10 * time.Millisecond) {
			n, before := w.Counts()
			if before == want {
				return n
			}
			if time.Now().After(deadline) {
				t.Fatalf("those of %d processes are as before, want %d", before, want)
			}
		}
	}
	if once, again := counts(0), counts(2); once == 0 || again == 0 {
		t.Errorf("counted %d, then %d", once, again)
	}
	if err := guest.Signal(syscall.SIGUSR1); err != nil {
		t.Fatal(err)
	}
	counts(1)
	counts(2)
}

// TestLateLookStopsFirst: who may have reached the limit since the last look is stopped before it is looked at, and
// goes on behind it, which is a signal (SIGCONT). Who cannot have is left alone.
func TestLateLookStopsFirst(t *testing.T) {
	guest, lines := startShell(t, "trap 'echo stopped' CONT; trap 'echo left alone; exit' USR1; "+
		"for i in 1 2 3 4; do sleep 600 & done; echo ready; while :; do :; done")
	next := func(want string) {
		t.Helper()
		if lines.Scan(); lines.Text() != want {
			t.Fatalf("it says %q, want %q", lines.Text(), want)
		}
	}
	next("ready")
	w := watchdog.Open(watchdog.Guest{PID: guest.Pid, Limit: 64 << 30}, never)
	defer w.Close()
	look := func() {
		t.Helper()
		if over, _ := w.Look(); over {
			t.Fatal("it is over its limit")
		}
	}
	w.Known()
	w.Late(time.Hour)
	look()
	next("stopped")
	w.Late(time.Second / 10)
	look()
	if err := guest.Signal(unix.SIGUSR1); err != nil {
		t.Fatal(err)
	}
	next("left alone")
}

// TestLongMapping finds a path that is longer than any that can be opened, among others, and not one that is as long as
// those may be.
func TestLongMapping(t *testing.T) {
	dir, err := unix.Open(t.TempDir(), unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	name := strings.Repeat("d", 250)
	for depth := range 40 { // of 251 bytes each
		if depth == 15 || depth == 39 {
			file, err := unix.Openat(dir, "file", unix.O_RDWR|unix.O_CREAT|unix.O_CLOEXEC, 0o600)
			if err == nil {
				err = unix.Ftruncate(file, int64(os.Getpagesize()))
			}
			if err != nil {
				t.Fatal(err)
			}
			mapping, err := unix.Mmap(file, 0, os.Getpagesize(), unix.PROT_READ, unix.MAP_SHARED)
			if err != nil {
				t.Fatal(err)
			}
			if long := watchdog.LongMapping(os.Getpid()); long != (depth == 39) {
				t.Errorf("at a depth of %d it is long: %t", depth, long)
			}
			_, _ = unix.Close(file), unix.Munmap(mapping)
		}
		err := unix.Mkdirat(dir, name, 0o700)
		below, open := unix.Openat(dir, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err = errors.Join(err, open); err != nil {
			t.Fatal(err)
		}
		unix.Close(dir)
		dir = below
	}
	unix.Close(dir)
}
