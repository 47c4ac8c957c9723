package sandbox_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"codemode/internal/sandbox"
	"codemode/internal/sandbox/python"
	"codemode/internal/sandbox/sandboxtest"

	"golang.org/x/sys/unix"
)

// hostedEnv has the test binary start a sandbox, say so, and wait to be killed.
const hostedEnv = "CODEMODE_TEST_HOSTED"

// hostedGuest has a child that ignores everything, where it may have one, and then sheds its parent-death signal:
// that belongs to its first thread, and another that calls execve takes the first one's place.
const hostedGuest = `
import os, signal, sys, threading, time

for number in range(1, 65):
    try:
        signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError):
        pass
try:
    if os.fork() == 0:
        os.setpgrp()
        os.execv(sys.executable, [sys.executable, "-I", "-S", "-c", "import time; time.sleep(3600)",
                                  os.environ["CODEMODE_TEST_MARKER"]])
except PermissionError:
    pass
for fd in (3, 4, 5):
    os.set_inheritable(fd, True)
code = "import os, time; os.write(3, b'ready\\n'); time.sleep(3600)"
threading.Thread(target=lambda: os.execv(sys.executable, [sys.executable, "-I", "-S", "-c", code])).start()
while True:
    time.sleep(3600)
`

// TestHostKilled: a sandbox does not outlive a codemode that gets SIGKILL.
func TestHostKilled(t *testing.T) {
	if marker := os.Getenv(hostedEnv); marker != "" {
		host(t, marker)
	}
	sandboxtest.EachUser(t, func(t *testing.T) {
		newNative(t, sandbox.IsolationFull) // or skip
		for _, isolation := range []sandbox.Isolation{sandbox.IsolationFull, sandbox.IsolationReduced} {
			t.Run(string(isolation), func(t *testing.T) { killHost(t, isolation) })
		}
	})
}

// killHost starts a host in another process, kills it, and waits for its guest to vanish.
func killHost(t *testing.T, isolation sandbox.Isolation) {
	marker := sandboxtest.Marker(t)
	files := t.TempDir()
	if err := os.WriteFile(filepath.Join(files, "guest.py"), []byte(hostedGuest), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/proc/self/exe", "-test.run=^TestHostKilled$")
	cmd.Env = append(
		os.Environ(),
		hostedEnv+"="+strings.Join(
			[]string{marker, sandboxtest.PythonCache(t), string(isolation), files, cacheDir(t)}, ",",
		),
	)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var guest int
	line, err := bufio.NewReader(out).ReadString('\n')
	if _, serr := fmt.Sscanf(line, "guest %d\n", &guest); err != nil || serr != nil {
		t.Fatalf("the host said %q: %v", line, err)
	}
	fd, err := unix.PidfdOpen(guest, 0)
	if err != nil {
		t.Fatalf("the guest is not running: %v", err)
	}
	defer unix.Close(fd)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	if !endsWithin(fd, 10*time.Second) {
		t.Error("the guest outlives its host")
		_ = unix.Kill(guest, unix.SIGKILL)
	}
	if n := sandboxtest.Marked(t, marker); n > 0 {
		t.Errorf("%d processes outlive their host", n)
	}
}

// endsWithin waits for a process.
func endsWithin(pidfd int, d time.Duration) bool {
	poll := []unix.PollFd{{Fd: int32(pidfd), Events: unix.POLLIN}}
	for {
		n, err := unix.Poll(poll, int(d.Milliseconds()))
		if err != unix.EINTR {
			return n == 1
		}
	}
}

// host is the process to be killed.
func host(t *testing.T, config string) {
	c := strings.Split(config, ",")
	rt := sandbox.NewNative(sandbox.NativeOptions{CacheDir: c[4], Python: python.Source{CacheDir: c[1]}})
	sb, err := rt.Start(t.Context(), sandbox.Spec{
		Session: "hosted",
		Files:   os.DirFS(c[3]),
		Boot:    "guest.py",
		Env:     []string{"CODEMODE_TEST_MARKER=" + c[0]},
		Policy:  policyOf(sandbox.Isolation(c[2])),
	})
	if err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(sb.Channel()).ReadString('\n')
	if err != nil || line != "ready\n" {
		t.Fatalf("the guest said %q: %v; %+v", line, err, sb.Exit())
	}
	fmt.Printf("guest %d\n", sandbox.PID(sb))
	<-sb.Done()
}

// TestKilledFromOutside: who ends a guest is told apart, also when its reaper sees the end before codemode does.
func TestKilledFromOutside(t *testing.T) {
	rt := newNative(t, sandbox.IsolationFull)
	idle := os.DirFS("testdata/idle")
	killed := func(whom func(sandbox.Sandbox) int) sandbox.Exit {
		sb, err := rt.Start(t.Context(), sandbox.Spec{
			Session: "killed", Files: idle, Boot: "idle.py", Policy: policyOf(sandbox.IsolationFull),
		})
		if err != nil {
			t.Fatal(err)
		}
		defer sb.Close()
		if err := unix.Kill(whom(sb), unix.SIGKILL); err != nil {
			t.Fatal(err)
		}
		<-sb.Done()
		return sb.Exit()
	}
	busy, rest := context.WithCancel(t.Context())
	defer rest()
	for range 4 * runtime.GOMAXPROCS(0) { // so that codemode may learn of the two ends in any order
		go func() {
			for busy.Err() == nil {
			}
		}()
	}
	for range 20 {
		if e := killed(sandbox.PID); e.Cause != sandbox.ExitSelf || e.Signal != int(unix.SIGKILL) {
			t.Fatalf("a guest that was killed ended as %+v", e)
		}
	}
	reaped := func(sb sandbox.Sandbox) int {
		if sb.Enforced().Memory != "watchdog" {
			t.Skipf("memory is limited by %s here, which needs no reaper", sb.Enforced().Memory)
		}
		return sandbox.ReaperPID(sb)
	}
	if e := killed(reaped); e.Cause != sandbox.ExitKilled {
		t.Errorf("a guest whose reaper was killed ended as %+v", e)
	}
}
