//go:build unix

package proc

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"codemode/internal/proc/proctest"
)

// parentVariable makes the test binary start the given shell script and wait to be killed.
const parentVariable = "CODEMODE_TEST_PARENT"

func TestMain(m *testing.M) {
	if script := os.Getenv(parentVariable); script != "" {
		os.Exit(beParent(script))
	}
	os.Exit(m.Run())
}

func beParent(script string) int {
	p, err := Start(context.Background(), shell(os.Getenv(proctest.Variable), script))
	if err != nil {
		fmt.Println(err)
		return 1
	}
	_, _ = io.Copy(os.Stdout, p.Stdout()) // what the script says once it is ready
	<-p.Done()
	return 0
}

func shell(mark, script string) Spec {
	return Spec{
		Path: "/bin/sh", Args: []string{"-c", script}, Dir: "/",
		// Under the race detector the guard would otherwise take a second to exit.
		Env: []string{"PATH=" + os.Getenv("PATH"), "GORACE=atexit_sleep_ms=0", proctest.Variable + "=" + mark},
	}
}

func start(t *testing.T, spec Spec) *Process {
	t.Helper()
	p, err := Start(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Stop(0) })
	return p
}

// ready waits for the process's first line.
func ready(t *testing.T, p *Process) string {
	t.Helper()
	line, err := bufio.NewReader(p.Stdout()).ReadString('\n')
	if err != nil {
		t.Fatalf("reading the first line: %v", err)
	}
	return strings.TrimSpace(line)
}

func TestStreams(t *testing.T) {
	p := start(t, shell(proctest.Mark(t), `echo oops >&2; cat; exit 5`))
	if _, err := io.WriteString(p.Stdin(), "hello\n"); err != nil {
		t.Fatal(err)
	}
	p.Stdin().Close()
	out, err := io.ReadAll(p.Stdout())
	if string(out) != "hello\n" || err != nil {
		t.Errorf("stdout is %q, %v", out, err)
	}
	<-p.Done()
	var exit *ExitError
	if !errors.As(p.Err(), &exit) || exit.Code != 5 {
		t.Errorf("it ended with %v, want exit status 5", p.Err())
	}
	if text, cut := p.Stderr(); text != "oops\n" || cut {
		t.Errorf("stderr is %q (cut: %v)", text, cut)
	}
}

func TestEnds(t *testing.T) {
	for _, c := range []struct {
		name, script string
		want         error
	}{
		{"by itself", "echo; exit 0", nil},
		{"with stdin", "echo; cat", nil},
		{"with SIGTERM", `trap "exit 9" TERM; echo; while :; do sleep 0.1; done`, &ExitError{Code: 9}},
		{"with SIGTERM's default", `echo; while :; do sleep 0.1; done`, &ExitError{Signal: syscall.SIGTERM}},
		{
			"with SIGKILL alone", `trap "" TERM HUP INT; echo; while :; do sleep 0.1; done`,
			&ExitError{Signal: syscall.SIGKILL},
		},
		{"by a signal of its own", `echo; kill -ABRT $$`, &ExitError{Signal: syscall.SIGABRT}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := start(t, shell(proctest.Mark(t), c.script))
			ready(t, p)
			grace := 2 * time.Second // also for a busy machine
			if c.want != nil && strings.HasPrefix(c.name, "with SIGKILL") {
				grace = 100 * time.Millisecond // for what never ends within it
			}
			err := p.Stop(grace)
			if fmt.Sprint(err) != fmt.Sprint(c.want) {
				t.Errorf("it ended with %v, want %v", err, c.want)
			}
			if again := p.Stop(0); again != err {
				t.Errorf("stopped again, it ended with %v", again)
			}
		})
	}
}

// TestHurry holds that nobody need wait for a process that does not end: its grace would be an hour.
func TestHurry(t *testing.T) {
	hurry := make(chan struct{})
	spec := shell(proctest.Mark(t), `trap "" TERM HUP INT; echo; while :; do sleep 0.1; done`)
	spec.Hurry = hurry
	p := start(t, spec)
	ready(t, p)
	ended := make(chan error)
	go func() { ended <- p.Stop(time.Hour) }()
	close(hurry)
	if err, want := <-ended, (&ExitError{Signal: syscall.SIGKILL}); fmt.Sprint(err) != want.Error() {
		t.Errorf("it ended with %v, want %v", err, want)
	}
}

// heirs are grandchildren that try to stay.
var heirs = map[string]string{
	"in the group":          `(trap "" TERM HUP INT; while :; do sleep 1000; done) & echo; cat`,
	"in another session":    `setsid sh -c 'trap "" TERM HUP INT; while :; do sleep 1000; done' & echo; cat`,
	"forked twice":          `(setsid sh -c '(trap "" TERM HUP INT; while :; do sleep 1000; done) &' ) ; echo; cat`,
	"with stdout and in":    `setsid sh -c 'cat >/dev/null; sleep 1000' & echo; exec sleep 1000`,
	"that keep being made":  `while :; do setsid sleep 1000 & sleep 0.01; done & echo; cat`,
	"below deaf parent too": `trap "" TERM; setsid sh -c 'trap "" TERM; sleep 1000; sleep 1000' & echo; sleep 1000; sleep 1000`,
}

func needLinux(t *testing.T) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux finds descendants that left their group")
	}
	if _, err := exec.LookPath("setsid"); err != nil {
		t.Skip("needs setsid")
	}
}

func TestHeirsEnd(t *testing.T) {
	needLinux(t)
	for name, script := range heirs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := start(t, shell(proctest.Mark(t), script))
			ready(t, p)
			_ = p.Stop(100 * time.Millisecond)
		})
	}
}

func TestHeirsOfEndedProcess(t *testing.T) {
	needLinux(t)
	p := start(t, shell(proctest.Mark(t), `(setsid sleep 1000 &); exit 4`))
	<-p.Done() // without anybody stopping it
	if want := (&ExitError{Code: 4}).Error(); p.Err() == nil || p.Err().Error() != want {
		t.Errorf("it ended with %v, want %v", p.Err(), want)
	}
}

func TestKilledParent(t *testing.T) {
	needLinux(t)
	for name, script := range heirs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mark := proctest.Mark(t)
			parent := exec.Command("/proc/self/exe")
			parent.Env = append(os.Environ(), parentVariable+"="+script, proctest.Variable+"="+mark)
			out, err := parent.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := parent.Start(); err != nil {
				t.Fatal(err)
			}
			if line, err := bufio.NewReader(out).ReadString('\n'); line != "\n" {
				t.Errorf("the parent says %q, %v", line, err)
			}
			if n := proctest.Count(mark); n < 2 {
				t.Errorf("%d processes run, want the parent and others", n)
			}
			_ = parent.Process.Kill()
			_ = parent.Wait()
		})
	}
}

func TestKilledGuard(t *testing.T) {
	needLinux(t)
	p := start(t, shell(proctest.Mark(t), `trap "" TERM; echo; while :; do sleep 0.1; done`))
	ready(t, p)
	if err := p.family.(*family).guard.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-p.Done()
	var exit *ExitError
	if !errors.As(p.Err(), &exit) || exit.Signal != syscall.SIGKILL {
		t.Errorf("it ended with %v, want SIGKILL", p.Err())
	}
}

func TestDoesNotStart(t *testing.T) {
	dir := t.TempDir()
	plain := filepath.Join(dir, "plain")
	if err := os.WriteFile(plain, []byte("no program"), 0o600); err != nil {
		t.Fatal(err)
	}
	mark := proctest.Mark(t)
	for _, c := range []struct {
		name string
		spec Spec
		want error
		text string
	}{
		{"missing", Spec{Path: filepath.Join(dir, "none"), Dir: dir}, syscall.ENOENT, "none"},
		{"not executable", Spec{Path: plain, Dir: dir}, syscall.EACCES, "plain"},
		{"missing directory", Spec{Path: "/bin/sh", Dir: filepath.Join(dir, "nowhere")}, syscall.ENOENT, "nowhere"},
		{"file for a directory", Spec{Path: "/bin/sh", Dir: plain}, syscall.ENOTDIR, "plain"},
		{"argument list too long", Spec{Path: "/bin/sh", Dir: dir, Args: []string{strings.Repeat("x", 4<<20)}}, syscall.E2BIG, "/bin/sh"},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.spec.Env = []string{proctest.Variable + "=" + mark}
			p, err := Start(t.Context(), c.spec)
			if err == nil {
				_ = p.Stop(0)
				t.Fatal("it started")
			}
			if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) {
				t.Errorf("the error is %v, want %v that names %q", err, c.want, c.text)
			}
		})
	}
}

func TestCancelledStart(t *testing.T) {
	cause := errors.New("changed my mind")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	if _, err := Start(ctx, shell(proctest.Mark(t), "cat")); !errors.Is(err, cause) {
		t.Errorf("the error is %v, want %v", err, cause)
	}
}

func TestFloodedStderr(t *testing.T) {
	lines := 0
	spec := shell(proctest.Mark(t), `yes "a line of nineteen" | head -c 19000000 >&2; echo; echo last words >&2; cat`)
	spec.StderrLine = func(line string, _ bool) {
		if line == "a line of nineteen" {
			lines++
		}
	}
	p := start(t, spec)
	ready(t, p)
	_ = p.Stop(time.Second)
	text, cut := p.Stderr()
	if len(text) != tailSize || !cut || !strings.HasSuffix(text, "nineteen\nlast words\n") {
		t.Errorf("%d bytes are kept (cut: %v), ending in %q", len(text), cut, text[max(0, len(text)-40):])
	}
	if want := 1_000_000; lines != want {
		t.Errorf("%d lines were told, want %d", lines, want)
	}
}

func TestLongStderrLine(t *testing.T) {
	var got []string
	tail := newTail(func(line string, cut bool) { got = append(got, fmt.Sprint(line, cut)) }, nil)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	tail.source = r
	go tail.read()
	_, _ = w.Write(bytes.Repeat([]byte("x"), 3*tailSize+5))
	_, _ = w.WriteString("\r\n\nend")
	w.Close()
	<-tail.done
	if want := []string{strings.Repeat("x", tailSize) + "true", "false", "endfalse"}; !slices.Equal(got, want) {
		t.Errorf("there are %d lines, the last of which are %q", len(got), got[max(0, len(got)-2):])
	}
}

// TestStderrPace holds that a process waits for who reads what it says at a pace, and that what it has left is read at
// once.
func TestStderrPace(t *testing.T) {
	next := make(chan struct{})
	spec := shell(proctest.Mark(t), `head -c 1000000 /dev/zero >&2; echo; head -c 60000 /dev/zero >&2`)
	spec.StderrPace = func(int) { <-next }
	p := start(t, spec)
	written := make(chan struct{})
	go func() { // ends with the process
		ready(t, p)
		close(written)
	}()
	select {
	case <-written:
		t.Error("it has written 1 MB, and nobody has read it")
	case <-time.After(100 * time.Millisecond):
	}
	for {
		select {
		case next <- struct{}{}:
		case <-written:
			for !p.stderr.ended.Load() { // its last words wait in the pipe
				<-time.After(time.Millisecond)
			}
			select {
			case next <- struct{}{}: // who has waited meanwhile
			case <-p.Done():
			}
			<-p.Done()
			_ = p.Stop(time.Second)
			return
		}
	}
}

// Nothing of codemode's own may reach a process: neither its environment nor a descriptor that it inherited
// itself.
func TestInheritsNothing(t *testing.T) {
	needLinux(t)
	leak, err := unix.FcntlInt(0, unix.F_DUPFD, 100)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(leak)
	p := start(t, shell(proctest.Mark(t), `env; exec ls /proc/self/fd`))
	out, err := io.ReadAll(p.Stdout())
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(out), "HOME=") {
		t.Error("it has codemode's HOME")
	}
	if fds := "\n0\n1\n2\n3\n"; !strings.HasSuffix(string(out), fds) { // 3 is the directory that ls reads
		t.Errorf("its environment and descriptors are %q", out)
	}
}

func TestHangup(t *testing.T) {
	p := start(t, shell(proctest.Mark(t), `trap "" TERM; echo; sleep 1000; sleep 1000`))
	ready(t, p)
	read := make(chan error)
	go func() {
		_, err := p.Stdout().Read(make([]byte, 1))
		read <- err
	}()
	p.Hangup()
	select {
	case err := <-read:
		if err == nil {
			t.Error("the read brought something")
		}
	case <-time.After(2 * time.Minute):
		t.Error("the read goes on")
	}
}

// BenchmarkStart compares a start below a guard with a plain one, and reports the guard's memory.
func BenchmarkStart(b *testing.B) {
	mark := proctest.Mark(b)
	b.Run("guarded", func(b *testing.B) {
		for b.Loop() {
			p, err := Start(b.Context(), shell(mark, "exit 0"))
			if err != nil {
				b.Fatal(err)
			}
			<-p.Done()
			_ = p.Stop(0)
		}
	})
	b.Run("plain", func(b *testing.B) {
		for b.Loop() {
			if err := exec.Command("/bin/sh", "-c", "exit 0").Run(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("memory", func(b *testing.B) {
		p, err := Start(b.Context(), shell(mark, "cat"))
		if err != nil {
			b.Fatal(err)
		}
		defer p.Stop(0)
		for b.Loop() {
			rollup(b, p.family.(*family).guard.Process.Pid)
		}
		for name, kib := range rollup(b, p.family.(*family).guard.Process.Pid) {
			b.ReportMetric(float64(kib), name+"-KiB")
		}
	})
}

// rollup reads a process's memory: Rss counts shared pages of the binary, Private is what a guard adds.
func rollup(b *testing.B, pid int) map[string]int {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		b.Skip(err)
	}
	sizes := map[string]int{}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) < 2 {
			continue
		}
		kib, _ := strconv.Atoi(fields[1])
		switch fields[0] {
		case "Rss:":
			sizes["rss"] = kib
		case "Private_Dirty:", "Private_Clean:":
			sizes["private"] += kib
		}
	}
	return sizes
}
