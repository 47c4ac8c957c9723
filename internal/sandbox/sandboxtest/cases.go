package sandboxtest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"codemode/internal/sandbox"
)

const sigkill, sigsegv = 9, 11

func echo(t *testing.T, k kit) {
	sb := k.start(t, "echo.py")
	buf := make([]byte, 64)
	for _, msg := range []string{"hello\n", "again\n"} {
		if _, err := io.WriteString(sb.Channel(), msg); err != nil {
			t.Fatal(err)
		}
		n, err := io.ReadFull(sb.Channel(), buf[:len(msg)])
		if got := string(buf[:n]); err != nil || got != msg {
			t.Fatalf("the guest answered %q, %v; want %q", got, err, msg)
		}
	}
}

func largeMessages(t *testing.T, k kit) {
	sb := k.start(t, "echo.py")
	sent := bytes.Repeat([]byte("0123456789abcdef"), 1<<18) // 4 MiB
	var wg sync.WaitGroup
	wg.Go(func() {
		if _, err := sb.Channel().Write(sent); err != nil {
			t.Errorf("writing: %v", err)
		}
	})
	got := make([]byte, len(sent))
	_, err := io.ReadFull(sb.Channel(), got)
	wg.Wait()
	if err != nil || !bytes.Equal(got, sent) {
		t.Errorf("4 MiB did not come back whole: %v", err)
	}
}

func exitCode(t *testing.T, k kit) {
	for _, code := range []string{"0", "3", "255"} {
		sb := k.start(t, "obey.py", command("exit", code))
		if got := readAll(t, sb); len(got) > 0 {
			t.Errorf("the channel has %q", got)
		}
		want := map[string]int{"0": 0, "3": 3, "255": 255}[code]
		wantExit(t, end(t, sb), want, 0, sandbox.ExitSelf)
	}
}

func signalExit(t *testing.T, k kit) {
	sb := k.start(t, "obey.py", command("segfault"))
	wantExit(t, end(t, sb), 0, sigsegv, sandbox.ExitSelf)
}

func kill(t *testing.T, k kit) {
	sb := k.start(t, "obey.py", command("hang"))
	var ready map[string]any
	answer(t, sb, &ready)
	select {
	case <-sb.Done():
		t.Fatal("done before it was killed")
	default:
	}
	sb.Kill()
	wantExit(t, end(t, sb), 0, sigkill, sandbox.ExitKilled)
	if _, err := sb.Channel().Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("reading from a dead guest: %v, want EOF", err)
	}
	sb.Kill() // of a dead guest: nothing
}

func closeTwice(t *testing.T, k kit) {
	sb := k.start(t, "obey.py", command("hang"))
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if err := sb.Close(); err != nil {
				t.Errorf("closing: %v", err)
			}
		})
	}
	wg.Wait()
	select {
	case <-sb.Done():
	default:
		t.Error("closed, and not done")
	}
	if err := sb.Close(); err != nil {
		t.Errorf("closing again: %v", err)
	}
	if _, err := sb.Channel().Read(make([]byte, 1)); err == nil {
		t.Error("the channel of a closed sandbox can be read")
	}
}

func closeAtOnce(t *testing.T, k kit) {
	sb := k.start(t, "echo.py")
	if err := sb.Close(); err != nil {
		t.Fatal(err)
	}
	if e := end(t, sb); e.Cause != sandbox.ExitKilled {
		t.Errorf("the guest ended as %s, want it killed", describe(e))
	}
}

// cancelledStart gives up at many moments of a start. What was begun must be gone; Leftovers sees it.
func cancelledStart(t *testing.T, k kit) {
	gone := errors.New("nobody waits")
	for delay := time.Duration(0); delay < 12*time.Millisecond; delay += 300 * time.Microsecond {
		ctx, cancel := context.WithTimeoutCause(t.Context(), delay, gone)
		sb, err := k.rt.Start(ctx, sandbox.Spec{Session: t.Name(), Files: scripts(), Boot: "echo.py", Policy: k.policy})
		cancel()
		switch {
		case err == nil && delay == 0:
			t.Error("started in a context that was over")
			fallthrough
		case err == nil:
			sb.Close()
		case !errors.Is(err, gone):
			t.Errorf("after %v: error %v does not tell the cause", delay, err)
		}
	}
}

// orphans: a guest that ends takes along whoever it started, even those that left it.
func orphans(t *testing.T, k kit) {
	if k.policy.Isolation == sandbox.IsolationReduced {
		t.Skip("a reduced guest is one process")
	}
	marker := Marker(t)
	sb := k.start(t, "obey.py", command("daemons", marker))
	var ready map[string]any
	answer(t, sb, &ready)
	if n := Marked(t, marker); n == 0 {
		t.Error("the guest's daemons cannot be seen from here: this test would prove nothing")
	}
	if _, err := io.WriteString(sb.Channel(), "\n"); err != nil {
		t.Fatal(err)
	}
	end(t, sb)
	if n := Marked(t, marker); n > 0 {
		t.Errorf("%d processes outlive their sandbox", n)
	}
}

func network(t *testing.T, k kit) {
	var got struct{ Made []string }
	answer(t, k.start(t, "obey.py", command("sockets")), &got)
	if len(got.Made) > 0 {
		t.Errorf("the guest connected over %v", got.Made)
	}
}

func readOnlyRoot(t *testing.T, k kit) {
	var got struct{ Written []string }
	answer(t, k.start(t, "obey.py", command("write")), &got)
	if len(got.Written) > 0 {
		t.Errorf("the guest wrote to %v", got.Written)
	}
}

func memory(t *testing.T, k kit) {
	if slices.Contains(k.policy.AllowGaps, "memory") {
		t.Skip("the policy allows memory to be without limit")
	}
	k.policy.Memory = 128 << 20
	sb := k.start(t, "obey.py", command("allocate"))
	wantExit(t, end(t, sb), 0, sigkill, sandbox.ExitMemory)
}

func processes(t *testing.T, k kit) {
	if k.policy.Isolation == sandbox.IsolationReduced || slices.Contains(k.policy.AllowGaps, "pids") {
		t.Skip("the policy allows processes to be without limit")
	}
	k.policy.Processes = 20
	var got struct{ Forks int }
	answer(t, k.start(t, "obey.py", command("forks")), &got)
	if got.Forks < 10 || got.Forks >= 20 {
		t.Errorf("the guest forked %d times under a limit of 20", got.Forks)
	}
}

func descriptors(t *testing.T, k kit) {
	secret, err := os.Create(filepath.Join(t.TempDir(), "secret"))
	if err != nil {
		t.Fatal(err)
	}
	defer secret.Close()
	inheritable(t, secret)
	var got struct{ Foreign []int }
	answer(t, k.start(t, "obey.py", command("descriptors")), &got)
	if len(got.Foreign) > 0 {
		t.Errorf("the guest has descriptors %v of the host", got.Foreign)
	}
}

func environment(t *testing.T, k kit) {
	t.Setenv("CODEMODE_TEST_SECRET", "s3cret")
	sb := k.start(t, "obey.py", command("environment"), func(s *sandbox.Spec) { s.Env = append(s.Env, "ADDED=yes") })
	var env map[string]string
	answer(t, sb, &env)
	if _, ok := env["CODEMODE_TEST_SECRET"]; ok {
		t.Error("the guest inherits codemode's environment")
	}
	if env["ADDED"] != "yes" {
		t.Error("Spec.Env does not reach the guest")
	}
	for _, name := range []string{"PATH", "HOME", "TMPDIR", "LANG"} {
		if env[name] == "" {
			t.Errorf("%s is not set", name)
		}
	}
	if home := env["HOME"]; k.policy.Isolation == sandbox.IsolationFull && home != "/workspace" {
		t.Errorf("HOME is %q", home)
	}
}

// leftOutput: what a guest wrote when it crashed is not lost.
func leftOutput(t *testing.T, k kit) {
	sb := k.start(t, "obey.py", command("say-and-crash"))
	e := end(t, sb)
	wantExit(t, e, 0, sigsegv, sandbox.ExitSelf)
	if got := string(e.Stdout); got != "to stdout\n" {
		t.Errorf("left on stdout: %q", got)
	}
	if got := string(e.Stderr); !strings.HasPrefix(got, "to stderr\n") {
		t.Errorf("left on stderr: %q", got)
	}
}

func leftOutputIsBounded(t *testing.T, k kit) {
	sb := k.start(t, "obey.py", command("flood"))
	var ready map[string]any
	answer(t, sb, &ready)
	sb.Kill()
	e := end(t, sb)
	if len(e.Stdout) == 0 || len(e.Stdout) > 64<<10 {
		t.Errorf("%d bytes of stdout were kept", len(e.Stdout))
	}
	if !bytes.HasSuffix(e.Stdout, []byte("end")) {
		t.Error("the last bytes were not kept")
	}
}

// readsOwnOutput: the guest itself takes what is written to its descriptors 1 and 2.
func readsOwnOutput(t *testing.T, k kit) {
	sb := k.start(t, "obey.py", command("read-own-output"))
	if !strings.HasPrefix(sb.BootArg(), "fd:") {
		t.Skip("this runtime leaves the pipes to the guest")
	}
	var got struct{ Stdout, Stderr string }
	answer(t, sb, &got)
	if got.Stdout != "one" || got.Stderr != "two" {
		t.Errorf("the guest read %q and %q", got.Stdout, got.Stderr)
	}
	if e := end(t, sb); len(e.Stdout)+len(e.Stderr) > 0 {
		t.Errorf("left over: %s", describe(e))
	}
}

func stdin(t *testing.T, k kit) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	defer wg.Wait()
	defer r.Close() // a writer that nobody reads from gives up
	sent := strings.Repeat("line\n", 50000)
	wg.Go(func() {
		defer w.Close()
		if _, err := io.WriteString(w, sent); err != nil {
			t.Errorf("writing the input: %v", err)
		}
	})
	var got struct{ Bytes int }
	sb := k.start(t, "obey.py", command("read-input"), input(r))
	if in := sb.Input(); in != nil {
		b, err := io.ReadAll(in) // in the guest's place, which asks for it
		if err != nil || string(b) != sent {
			t.Errorf("the guest could have read %d bytes of %d, %v", len(b), len(sent), err)
		}
		return
	}
	answer(t, sb, &got)
	if got.Bytes != len(sent) {
		t.Errorf("the guest read %d bytes of %d", got.Bytes, len(sent))
	}
}

// stdinEnds: whoever waits for the caller's input on behalf of the guest sees the guest's end.
func stdinEnds(t *testing.T, k kit) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	sb := k.start(t, "obey.py", command("hang"), input(r))
	in := sb.Input()
	if in == nil {
		t.Skip("descriptor 0 of this runtime's guests carries the input")
	}
	time.AfterFunc(10*time.Millisecond, sb.Kill)
	if n, err := in.Read(make([]byte, 10)); n != 0 || !errors.Is(err, io.EOF) {
		t.Errorf("reading for a dead guest: %d bytes, %v, want EOF", n, err)
	}
}

// stdinUnread: a guest that ends does not wait for its caller's input, which stays open.
func stdinUnread(t *testing.T, k kit) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	sb := k.start(t, "obey.py", command("exit", "0"), input(r))
	wantExit(t, end(t, sb), 0, 0, sandbox.ExitSelf)
	if err := sb.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Stat(); err != nil {
		t.Errorf("the caller's input was closed: %v", err)
	}
}

func stdinEmpty(t *testing.T, k kit) {
	var got struct{ Bytes int }
	answer(t, k.start(t, "obey.py", command("read-input")), &got)
	if got.Bytes != 0 {
		t.Errorf("the guest read %d bytes of nothing", got.Bytes)
	}
}

func subprocess(t *testing.T, k kit) {
	if k.policy.Isolation == sandbox.IsolationReduced {
		t.Skip("a reduced guest is one process")
	}
	var got struct{ Out string }
	answer(t, k.start(t, "obey.py", command("shell", "echo", "$((2+3))")), &got)
	if got.Out != "5\n" {
		t.Errorf("a shell in the guest printed %q", got.Out)
	}
}

func closedDescriptors(t *testing.T, k kit) {
	sb := k.start(t, "obey.py", command("close-everything"))
	if k.rt.Name() != "podman" && k.rt.Name() != "kubernetes" { // which hold the channel as well
		readAll(t, sb) // ends, though the guest lives
	}
	sb.Kill()
	wantExit(t, end(t, sb), 0, sigkill, sandbox.ExitKilled)
}

func manyAtOnce(t *testing.T, k kit) {
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			sb, err := k.rt.Start(
				ctx, sandbox.Spec{Session: t.Name(), Files: scripts(), Boot: "echo.py", Policy: k.policy},
			)
			if err != nil {
				t.Errorf("starting: %v", err)
				return
			}
			defer sb.Close()
			buf := make([]byte, 3)
			if _, err := io.WriteString(sb.Channel(), "abc"); err != nil {
				t.Errorf("writing: %v", err)
			}
			if _, err := io.ReadFull(sb.Channel(), buf); err != nil || string(buf) != "abc" {
				t.Errorf("the guest answered %q, %v", buf, err)
			}
		})
	}
	wg.Wait()
}
