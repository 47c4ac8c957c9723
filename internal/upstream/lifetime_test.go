package upstream

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"codemode/internal/config"
	"codemode/internal/fakemcp"
	"codemode/internal/proc/proctest"
)

// startsOf counts the starts that a server noted in a file.
func startsOf(t testing.TB, file string) int {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return strings.Count(string(b), "\n")
}

func TestNothingStartsByItself(t *testing.T) {
	file := filepath.Join(t.TempDir(), "starts")
	f := newPool(t, nil, fake("stub", "-starts", file))
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if n := startsOf(t, file); n != 0 {
		t.Errorf("it was started %d times", n)
	}
	if _, err := f.Tools(f.ctx(), "stub"); !errors.Is(err, errClosed) {
		t.Errorf("after Close, the error is %v", err)
	}
}

func TestOneStartForAll(t *testing.T) {
	file := filepath.Join(t.TempDir(), "starts")
	impatient, leave := context.WithCancelCause(t.Context())
	f := newPool(t, func(o *Options) {
		o.Progress = func(string, string) { leave(errors.New("impatient")) } // as soon as it is being started
	}, fake("stub", "-starts", file))
	if _, err := f.Tools(impatient, "stub"); err == nil || err.Error() != "impatient" {
		t.Errorf("the first caller's error is %v", err)
	}
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			raw, err := f.Call(f.ctx(), "stub", "echo", json.RawMessage(fmt.Sprintf(`{"message":"%d"}`, i)))
			if err != nil {
				t.Error(err)
			} else if got := textOf(t, raw); got != fmt.Sprint(i) {
				t.Errorf("call %d brought %q", i, got)
			}
		})
	}
	wg.Wait()
	if n := startsOf(t, file); n != 1 {
		t.Errorf("it was started %d times", n)
	}
}

func TestServersDoNotWaitForEachOther(t *testing.T) {
	f := newPool(t, nil, fake("hung", "-hang", "initialize"), fake("stub"))
	ctx, cancel := context.WithCancel(t.Context())
	waiting := make(chan error)
	go func() {
		_, err := f.Tools(ctx, "hung")
		waiting <- err
	}()
	if got := f.text("stub", "echo", `{"message":"hi"}`); got != "hi" {
		t.Errorf("the answer is %q", got)
	}
	cancel()
	if err := <-waiting; !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
}

func TestDoesNotStart(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("SECRET_OF_TEST", "hunter2-hunter2")
	withEnv := fake("secretive", "-exit-at-start", "1", "-say", "my token is $TOKEN, my key ${SECRET_OF_TEST}")
	withEnv.Env = map[string]string{"TOKEN": "s3cr3t-value"}
	for _, c := range []struct {
		server config.Server
		step   string
		texts  []string
		stderr []string
	}{
		{
			fake("exits", "-exit-at-start", "3", "-say", "I need a key"), "initialize",
			[]string{"exit status 3"},
			[]string{"I need a key", "cannot start"},
		},
		{fake("quits", "-exit-at-start", "0"), "initialize", []string{"exit status 0"}, nil},
		{withEnv, "initialize", []string{"exit status 1"}, []string{"my token is ***, my key ***"}},
		{
			config.Server{Name: "missing", Command: "no-such-command-here"},
			"starting",
			[]string{`"no-such-command-here"`, "PATH"},
			nil,
		},
		{
			config.Server{Name: "gone", Command: filepath.Join(dir, "gone")},
			"starting",
			[]string{"gone", "does not exist"},
			nil,
		},
		{config.Server{Name: "folder", Command: dir}, "starting", []string{"is a directory"}, nil},
		{
			config.Server{Name: "badcwd", Command: fakePath, Cwd: filepath.Join(dir, "nowhere")},
			"starting",
			[]string{"nowhere", "no such file or directory"},
			nil,
		},
		{config.Server{Name: "empty"}, "starting", []string{"neither a command nor a URL"}, nil},
		{
			config.Server{Name: "unset", Command: fakePath, Args: []string{"${NO_SUCH_VARIABLE}"}},
			"starting",
			[]string{"NO_SUCH_VARIABLE is not set"},
			nil,
		},
		{
			config.Server{Name: "input", Command: fakePath, Env: map[string]string{"KEY": "${input:api-key}"}},
			"starting",
			[]string{"${input:api-key} can only be found out by"},
			nil,
		},
		{fake("hangs", "-hang", "initialize"), "initialize", []string{"took longer than 700ms"}, nil},
		{fake("lists", "-hang", "tools/list"), "tools/list", []string{"took longer than 3s"}, nil},
		{fake("floods", "-flood"), "initialize", []string{"more than 1048576 bytes without a line end"}, nil},
		{fake("itself", "-name", "codemode", "-as-codemode"), "tools/list", []string{"it is codemode itself"}, nil},
		{fake("mute", "-close-stdout"), "initialize", []string{"the server ended"}, nil},
	} {
		t.Run(c.server.Name, func(t *testing.T) {
			f := newPool(t, func(o *Options) {
				o.MaxMessage = 1 << 20
				switch c.server.Name {
				case "hangs":
					o.StartTimeout = 700 * time.Millisecond
				case "lists": // it must have answered initialize by then
					o.StartTimeout = 3 * time.Second
				}
			}, c.server)
			_, err := f.Tools(f.ctx(), c.server.Name)
			var start *StartError
			if !errors.As(err, &start) {
				t.Fatalf("the error is %v, want a *StartError", err)
			}
			if start.Step != c.step || start.Server != c.server.Name {
				t.Errorf("the error is %+v, want step %q", start, c.step)
			}
			for _, text := range append(c.texts, fmt.Sprintf("%q", c.server.Name)) {
				if !strings.Contains(err.Error(), text) {
					t.Errorf("the error is %q, without %q", err, text)
				}
			}
			for _, text := range c.stderr {
				if !strings.Contains(start.Stderr, text) {
					t.Errorf("stderr is %q, without %q", start.Stderr, text)
				}
			}
			for _, secret := range []string{"s3cr3t", "hunter2", "user:pw"} {
				if strings.Contains(err.Error()+start.Stderr+f.log.String(), secret) {
					t.Errorf("%q is in the error, the tail or the log", secret)
				}
			}
		})
	}
}

func TestCrash(t *testing.T) {
	file := filepath.Join(t.TempDir(), "starts")
	server := fake("stub", "-starts", file)
	server.Env = map[string]string{"TOKEN": "s3cr3t-value"}
	f := newPool(t, nil, server)
	f.text("stub", "complain", `{"message":"$TOKEN is on my mind"}`)
	other := make(chan error)
	go func() {
		_, err := f.Call(f.ctx(), "stub", "slow", json.RawMessage(`{"ms":60000}`))
		other <- err
	}()
	f.waitForCalls("stub", 1)
	_, err := f.Call(f.ctx(), "stub", "crash", nil)
	for _, err := range []error{err, <-other} {
		var call *CallError
		if !errors.As(err, &call) || !call.Crashed {
			t.Fatalf("the error is %v, want a crash", err)
		}
		if !strings.Contains(call.Error(), "exit status 3") || !strings.HasPrefix(call.Stderr, "*** is on my mind\n") ||
			!strings.HasSuffix(call.Stderr, "fakemcp: crashing as told") {
			t.Errorf("the error is %q, stderr %q", call, call.Stderr)
		}
	}
	if got := f.text("stub", "echo", `{"message":"again"}`); got != "again" {
		t.Errorf("the next call brought %q", got)
	}
	if n := startsOf(t, file); n != 2 {
		t.Errorf("it was started %d times", n)
	}
	if strings.Contains(f.log.String(), "s3cr3t") {
		t.Error("the secret is in the log")
	}
}

func TestServerThatClosesItsOutput(t *testing.T) {
	f := newPool(t, nil, fake("stub"))
	_, err := f.Call(f.ctx(), "stub", "eof", nil)
	var call *CallError
	if !errors.As(err, &call) || !call.Crashed {
		t.Errorf("the error is %v, want a crash", err)
	}
	if got := f.text("stub", "echo", `{"message":"again"}`); got != "again" {
		t.Errorf("the next call brought %q", got)
	}
}

// TestBackoff is about a server that fails again and again. Time passes only while nobody waits for its process.
func TestBackoff(t *testing.T) {
	mark := proctest.Mark(t)
	file := filepath.Join(t.TempDir(), "starts")
	synctest.Test(t, func(t *testing.T) {
		f := newMarkedPool(t, mark, nil, fake("bad", "-starts", file, "-exit-at-start", "1"))
		for range 2 { // the second try follows at once
			if _, err := f.Tools(f.ctx(), "bad"); err == nil || strings.Contains(err.Error(), "next try") {
				t.Errorf("the error is %v", err)
			}
		}
		soon, cancel := context.WithTimeout(t.Context(), time.Second-1)
		defer cancel()
		_, err := f.Tools(soon, "bad")
		var start *StartError
		if !errors.As(err, &start) || !strings.Contains(err.Error(), "2 failures in a row, next try in 1s") ||
			!strings.Contains(err.Error(), "exit status 1") || !strings.Contains(start.Stderr, "cannot start") {
			t.Errorf("the error is %v", err)
		}
		if n := startsOf(t, file); n != 2 {
			t.Errorf("it was started %d times, want 2", n)
		}
		// Whoever has the time waits.
		began := time.Now()
		if _, err := f.Tools(t.Context(), "bad"); err == nil || strings.Contains(err.Error(), "next try") {
			t.Errorf("the error is %v", err)
		}
		if took := time.Since(began); took != time.Second {
			t.Errorf("it was tried again after %v", took)
		}
		if n := startsOf(t, file); n != 3 {
			t.Errorf("it was started %d times, want 3", n)
		}
	})
}

func TestFailures(t *testing.T) {
	var f failures
	now := time.Now()
	var pauses []time.Duration
	no := &StartError{Err: errors.New("no")}
	for range 9 {
		f.add(no, now)
		pauses = append(pauses, f.pause(now))
	}
	want := []time.Duration{0, 1, 2, 4, 8, 16, 30, 30, 30}
	for i := range want {
		want[i] *= time.Second
	}
	if !slices.Equal(pauses, want) {
		t.Errorf("the pauses are %v, want %v", pauses, want)
	}
	f.lived(steady - 1)
	if f.count != 9 {
		t.Error("a short life made them forgotten")
	}
	f.lived(steady)
	if f.add(no, now); f.pause(now) != 0 {
		t.Errorf("after a long life the pause is %v", f.pause(now))
	}
}

func TestManyServers(t *testing.T) {
	const n = 25
	servers := make([]config.Server, n)
	for i := range servers {
		servers[i] = fake(fmt.Sprint("s", i), "-tools", "10")
	}
	f := newPool(t, nil, servers...)
	var wg sync.WaitGroup
	for _, s := range servers {
		wg.Go(func() {
			if _, err := f.Tools(f.ctx(), s.Name); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

func TestStubbornServersEnd(t *testing.T) {
	t.Parallel()
	f := newPool(t, nil,
		fake("plain"), fake("term", "-ignore-eof"), fake("kill", "-ignore-eof", "-ignore-term"),
		fake("heir", "-spawn-child"), fake("both", "-spawn-child", "-ignore-eof", "-ignore-term"))
	var wg sync.WaitGroup
	for _, name := range []string{"plain", "term", "kill", "heir", "both"} {
		wg.Go(func() {
			if _, err := f.Tools(f.ctx(), name); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := proctest.Count(f.mark); n < 5 {
		t.Errorf("%d processes run", n)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	proctest.None(t, f.mark)
}

func TestKilledHost(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("the fake's grandchild is a Unix shell")
	}
	mark := proctest.Mark(t)
	host := exec.Command(os.Args[0], fakePath)
	host.Env = append(os.Environ(), hostVariable+"="+mark)
	out, err := host.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := host.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready <nil>\n" {
		t.Errorf("it says %q, %v", line, err)
	}
	if n := proctest.Count(mark); runtime.GOOS == "linux" && n < 3 {
		t.Errorf("%d processes run, want guard, server and grandchild", n)
	}
	_ = host.Process.Kill()
	_ = host.Wait()
}

func TestCloseDuringEverything(t *testing.T) {
	f := newPool(t, nil, fake("stub"), fake("hung", "-hang", "initialize"))
	errs := make(chan error, 2)
	f.names("stub")
	go func() {
		_, err := f.Call(context.Background(), "stub", "slow", json.RawMessage(`{"ms":60000}`))
		errs <- err
	}()
	go func() {
		_, err := f.Tools(context.Background(), "hung")
		errs <- err
	}()
	f.waitForCalls("stub", 1)
	f.waitForStart("hung")
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	for range 2 {
		if err := <-errs; !errors.Is(err, errClosed) {
			t.Errorf("the error is %v, want %v", err, errClosed)
		}
	}
	if err := f.Close(); err != nil {
		t.Error("closed again:", err)
	}
}

func TestFloodOnStderr(t *testing.T) {
	f := newPool(t, func(o *Options) { o.Log = nil }, fake("stub", "-chatty-stderr", "20000000"))
	f.names("stub")
	_, err := f.Call(f.ctx(), "stub", "crash", nil)
	var call *CallError
	if !errors.As(err, &call) || len(call.Stderr) > 8<<10 ||
		!strings.Contains(call.Stderr, "end of chatter\nfakemcp: crashing as told") {
		t.Fatalf("the error is %v", err)
	}
	if !strings.HasPrefix(call.Stderr, "chatter ") {
		t.Errorf("the tail begins with %.40q, within a line", call.Stderr)
	}
}

func TestProtocolVersions(t *testing.T) {
	file := filepath.Join(t.TempDir(), "starts")
	f := newPool(t, nil, fake("modern", "-modern", "-starts", file), fake("strict", "-only-initialize"))
	if got := f.text("modern", "echo", `{"message":"hi"}`); got != "hi" {
		t.Errorf("the server without initialize says %q", got)
	}
	if n := startsOf(t, file); n != 2 {
		t.Errorf("it was started %d times, want 2", n)
	}
	if got := f.text("strict", "echo", `{"message":"hi"}`); got != "hi" {
		t.Errorf("the server that dies of another first message says %q", got)
	}
	f.text("modern", "grow", `{}`)
	if got := <-f.changed; got != "modern" {
		t.Errorf("%q has changed", got)
	}
}

// TestNotSent is about a call whose context ends before its server is up: nobody need fear that it was done.
func TestNotSent(t *testing.T) {
	var told wireLog
	f := newPool(t, func(o *Options) { o.Wire = &told }, fake("hung", "-hang", "initialize"))
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err := f.Call(ctx, "hung", "echo", json.RawMessage(`{}`))
	if told.String() != "" || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the call ended with %v; on the wire: %s", err, &told)
	}
}

// TestProcess holds that what all processes of a server are below is known as long as the server runs, and that it is
// another once it has been started again.
func TestProcess(t *testing.T) {
	f := newPool(t, nil, fake("fake"), newSite(t, fakemcp.Handler()).at("/mcp"))
	want := func(name string, runs bool) (pid int) {
		t.Helper()
		if pid = f.Process(name); (pid != 0) != runs {
			t.Errorf("the process of %q is %d", name, pid)
		}
		return pid
	}
	want("fake", false)
	want("nobody", false)
	f.text("fake", "echo", `{"message":"here"}`)
	first := want("fake", true)
	f.text("far", "echo", `{"message":"here"}`)
	want("far", false)
	if _, err := f.Call(f.ctx(), "fake", "crash", nil); err == nil {
		t.Error("the server has not ended")
	}
	want("fake", false)
	f.text("fake", "echo", `{"message":"here"}`)
	if second := want("fake", true); second == first {
		t.Errorf("the process is still %d", first)
	}
}
