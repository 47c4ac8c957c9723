package sandbox

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"codemode/internal/sandbox/watchdog"

	"golang.org/x/sys/unix"
)

// TestPace: counting what guests have takes an eighth of a processor for one of them and a quarter for many, and no two
// are counted at once.
func TestPace(t *testing.T) {
	const steps, each = 200, 100 * time.Microsecond
	for guests, most := range map[int]float64{1: 1. / 8, 6: 1. / 4} {
		var shared pace
		var walks sync.WaitGroup
		var going atomic.Int32
		began := time.Now()
		for range guests {
			walks.Go(func() {
				w := walk{pace: &shared}
				w.begin()
				defer w.end()
				for range steps {
					if going.Add(1) > 1 {
						t.Error("two are counted at once")
					}
					for from := watchdog.ThreadTime(); watchdog.ThreadTime()-from < each; {
					}
					going.Add(-1)
					w.step()
				}
			})
		}
		walks.Wait()
		used := time.Duration(guests*steps) * each
		if share := used.Seconds() / time.Since(began).Seconds(); share > 1.2*most {
			t.Errorf("%d guests take %.3f of a processor, want %.3f", guests, share, most)
		}
	}
}

// TestRests: a guest is left alone as long as nothing of it has run.
func TestRests(t *testing.T) {
	cat := exec.Command("cat")
	in, err := cat.StdinPipe()
	out, err2 := cat.StdoutPipe()
	if err := errors.Join(err, err2, cat.Start()); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = in.Close(); _ = cat.Wait() }()
	q := newQuotas(0)
	rests := func() bool { return q.rests(watchdog.Members(cat.Process.Pid)) }
	for deadline := time.Now().Add(10 * time.Second); !rests(); <-time.After(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it waits for input, and is not taken to rest")
		}
	}
	if !rests() {
		t.Error("it has not run, and is not taken to rest")
	}
	if _, err := in.Write([]byte("a")); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	if rests() {
		t.Error("it has run, and is taken to rest")
	}
}

// TestUsedUp: a quota has to be used up for some time without a break.
func TestUsedUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQuotas(0)
		const step, spike = 100 * time.Millisecond, 2 * time.Second
		for at := range 6 * time.Second / step {
			usedUp := at*step%(spike+step) != spike // but at one look between two spikes
			if q.lasts(ExitPipes, usedUp) {
				t.Fatalf("after %v, with breaks, it has lasted", at*step)
			}
			<-time.After(step)
		}
		began := time.Now()
		for !q.lasts(ExitWatches, true) {
			if time.Since(began) > 2*spike {
				t.Fatal("it has not lasted")
			}
			<-time.After(step)
		}
	})
}

// TestLocksOfOthers: what a guest holds is counted as soon where others have many locks. The kernel lists those of the
// machine by going through all that are before a page of them, for each page.
func TestLocksOfOthers(t *testing.T) {
	const files, each = 15, 2000
	dir := t.TempDir()
	for n := range files {
		file, err := os.Create(filepath.Join(dir, strconv.Itoa(n)))
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		for at := range int64(each) {
			lock := unix.Flock_t{Type: unix.F_WRLCK, Start: 2 * at, Len: 1}
			if err := unix.FcntlFlock(file.Fd(), unix.F_SETLK, &lock); err != nil {
				t.Fatal(err)
			}
		}
	}
	took := func(step func()) time.Duration {
		began := time.Now()
		step()
		return time.Since(began)
	}
	all := took(func() { _, _ = os.ReadFile("/proc/locks") })
	var looks []time.Duration
	for range 5 {
		q := newQuotas(0)
		q.walk.begin()
		looks = append(looks, took(func() { q.look([]watchdog.Member{{PID: os.Getppid(), TID: os.Getppid()}}) }))
		q.walk.end()
	}
	if least := slices.Min(looks); least > all/10 {
		t.Errorf("it takes %v, as against %v for all locks of the machine", least, all)
	}
}

// TestLocksAreCounted: of a process as many as it has, and more where it has a file by several descriptors.
func TestLocksAreCounted(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "locked"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	self := []watchdog.Member{{PID: os.Getpid(), TID: os.Getpid()}}
	count := func() int {
		q := newQuotas(0)
		q.list = self
		q.walk.begin()
		defer q.walk.end()
		return q.descriptors().locks
	}
	before := count()
	for at := range int64(100) {
		lock := unix.Flock_t{Type: unix.F_WRLCK, Start: 2 * at, Len: 1}
		if err := unix.FcntlFlock(file.Fd(), unix.F_SETLK, &lock); err != nil {
			t.Fatal(err)
		}
	}
	if n := count() - before; n != 100 {
		t.Errorf("counted %d of 100", n)
	}
	second, err := unix.Dup(int(file.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	if n := count() - before; n != 200 {
		t.Errorf("counted %d of 100 at two descriptors", n)
	}
	unix.Close(second) // and with it all locks
	if n := count() - before; n != 0 {
		t.Errorf("counted %d of none", n)
	}
}
