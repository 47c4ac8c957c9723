package affinity

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// beServer is the environment variable that makes the test binary a server.
const beServer = "CODEMODE_TEST_SERVER"

func TestMain(m *testing.M) {
	if os.Getenv(beServer) != "" {
		serve()
		return
	}
	os.Exit(m.Run())
}

// serve starts as many threads as it is asked for, and a process that starts one, until its input ends.
func serve() {
	for n := 0; ; {
		if _, err := fmt.Scanln(&n); err != nil {
			return
		}
		started := make(chan bool)
		for range n {
			go func() {
				runtime.LockOSThread()
				started <- true
				select {}
			}()
			<-started
		}
		cmd := exec.Command("sh", "-c", "sleep 60 & echo; wait")
		if out, err := cmd.StdoutPipe(); err == nil && cmd.Start() == nil {
			_, _ = bufio.NewReader(out).ReadString('\n') // its process is there then, and not just being started
		}
		fmt.Println()
	}
}

// server is a process that starts threads and processes when it is told to.
type server struct {
	pid  int
	more func(threads int)
}

func startServer(t *testing.T) server {
	t.Helper()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), beServer+"=1")
	in, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	if err := errors.Join(err1, err2, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, pid := range slices.Backward(threads(cmd.Process.Pid)) {
			_ = unix.Kill(pid, unix.SIGKILL) // the processes among them
		}
		_ = cmd.Wait()
	})
	answers := bufio.NewReader(out)
	return server{cmd.Process.Pid, func(threads int) {
		t.Helper()
		fmt.Fprintln(in, threads)
		if _, err := answers.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}}
}

// TestShareWithServer: the threads of a server and of what is below it share the processor, those that are started
// meanwhile, too; they are all released, at last also who was being started at that time, and nobody else then.
func TestShareWithServer(t *testing.T) {
	all := use(t)
	guest, s := startServer(t), startServer(t)
	s.more(3)
	want := func(n int) {
		t.Helper()
		tids := append(threads(guest.pid), threads(s.pid)...)
		for _, tid := range tids {
			if has := processors(t, tid); has != n {
				t.Errorf("thread %d of %d has %d processors, want %d", tid, len(tids), has, n)
			}
		}
	}
	release, err := Share(guest.pid, s.pid)
	if err != nil {
		t.Fatal(err)
	}
	want(1)
	var one unix.CPUSet
	if err := unix.SchedGetaffinity(s.pid, &one); err != nil {
		t.Fatal(err)
	}
	before := len(threads(s.pid))
	s.more(5)
	if n := len(threads(s.pid)); n <= before {
		t.Errorf("the server has %d threads and had %d", n, before)
	}
	want(1)
	defer func(before time.Duration) { lateLook = before }(lateLook)
	lateLook = time.Hour
	there := threads(s.pid) // those that are started from now on may be seen or not
	release()
	want(all)

	bind := func(to unix.CPUSet) {
		t.Helper()
		for _, tid := range there {
			if err := unix.SchedSetaffinity(tid, &to); err != nil {
				t.Fatal(err)
			}
		}
	}
	bind(one)
	s.more(1)
	// Who is bound may start more at any time, so what comes after this is not looked at.
	started := without(threads(s.pid), there)
	if len(started) == 0 {
		t.Fatal("the server has started nothing")
	}
	mu.Lock()
	lookAgain()
	mu.Unlock()
	for _, tid := range started {
		if n := processors(t, tid); n != all {
			t.Errorf("thread %d, which was being started at the release, has %d processors", tid, n)
		}
	}
	for _, tid := range there {
		if n := processors(t, tid); n != 1 {
			t.Errorf("thread %d has %d processors, and somebody has given it one since", tid, n)
		}
	}

	lateLook = time.Millisecond
	if release, err = Share(guest.pid); err != nil {
		t.Fatal(err)
	}
	release()
	looks := func() bool {
		mu.Lock()
		defer mu.Unlock()
		return late != nil
	}
	for end := time.Now().Add(time.Minute); looks(); <-time.After(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("nobody looks for what was being started")
		}
	}
}

// TestShareLeavesServer: nothing is shared with a server that has chosen its processors, in one of its processes, nor
// with one of very many threads, or that has ended.
func TestShareLeavesServer(t *testing.T) {
	all := use(t)
	guest, chosen, many := startServer(t), startServer(t), startServer(t)
	chosen.more(0)
	var first unix.CPUSet
	first.Set(0)
	below := threads(chosen.pid)
	if err := unix.SchedSetaffinity(below[len(below)-1], &first); err != nil {
		t.Fatal(err)
	}
	many.more(mostThreads)
	for _, test := range []struct {
		pid int
		err error
	}{{chosen.pid, errChosen}, {many.pid, errMany}, {1 << 30, errChosen}} {
		if _, err := Share(guest.pid, test.pid); err != test.err {
			t.Errorf("the error is %v, want %v", err, test.err)
		}
	}
	if n := processors(t, guest.pid); n != all {
		t.Errorf("the guest has %d processors", n)
	}
}

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
	mu.Lock()
	lookAgain() // for what another test has released
	mu.Unlock()
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
