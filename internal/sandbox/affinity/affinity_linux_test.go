package affinity

import (
	"os"
	"os/exec"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// TestShare: while a processor is shared, the threads of both sides have it alone, with who is started meanwhile, but
// for a process that has chosen its own; nobody else shares one, and afterwards all have what they had.
func TestShare(t *testing.T) {
	all := use(t)
	start := func() (pid int) {
		cmd := exec.Command("sleep", "60")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		})
		return cmd.Process.Pid
	}
	guest, chosen := start(), start()
	var first unix.CPUSet
	first.Set(0)
	if err := unix.SchedSetaffinity(chosen, &first); err != nil {
		t.Fatal(err)
	}
	release, err := Share(guest)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Share(chosen); err != errShared {
		t.Errorf("another guest shares one, too: %v", err)
	}
	meanwhile := start()
	for _, tid := range append(threads(os.Getpid()), guest, meanwhile) {
		if n := processors(t, tid); n != 1 {
			t.Errorf("thread %d has %d processors", tid, n)
		}
	}
	stop := make(chan struct{})
	defer close(stop)
	for range 8 {
		go func() { // a thread of its own, which may be started while processors are given back
			runtime.LockOSThread()
			<-stop
		}()
	}
	release()
	release()
	for _, tid := range threads(os.Getpid()) {
		want := all
		if tid == chosen {
			want = 1
		}
		if n := processors(t, tid); n != want {
			t.Errorf("thread %d has %d processors afterwards, want %d", tid, n, want)
		}
	}
}

// TestShareRestricted: whose processors somebody has chosen keeps them.
func TestShareRestricted(t *testing.T) {
	use(t)
	runtime.LockOSThread() // and it ends with this goroutine
	var first unix.CPUSet
	first.Set(0)
	if err := unix.SchedSetaffinity(0, &first); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := Share(os.Getpid()); err != errRestricted {
			t.Errorf("the error is %v", err)
		}
	}
}

// use skips a test that may not use all processors, or only one.
func use(t *testing.T) int {
	n := processors(t, 0)
	if n < 2 || n != online() {
		t.Skipf("%d of %d processors may be used", n, online())
	}
	return n
}

func processors(t *testing.T, tid int) int {
	t.Helper()
	var has unix.CPUSet
	if err := unix.SchedGetaffinity(tid, &has); err != nil {
		t.Fatal(err)
	}
	return has.Count()
}
