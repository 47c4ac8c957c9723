package sandbox_test

import (
	"bufio"
	"context"
	"embed"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"codemode/internal/sandbox"
	"codemode/internal/sandbox/sandboxtest"

	"golang.org/x/sys/unix"
)

//go:embed testdata/quotas
var quotas embed.FS

// TestQuotas holds that a guest is ended which takes too much of what the kernel counts for its user outside, however
// it keeps that, and that none is which has some.
func TestQuotas(t *testing.T) {
	sandboxtest.EachUser(t, func(t *testing.T) {
		rt := newNative(t, sandbox.IsolationFull)
		for mode, want := range map[string]sandbox.ExitCause{
			"waiting_pipes":   sandbox.ExitPipes,
			"watches":         sandbox.ExitWatches,
			"waiting_watches": sandbox.ExitWatches,
			"many_locks":      sandbox.ExitLocks,
			"kernel_files":    sandbox.ExitKernelFiles,
			"ordinary":        sandbox.ExitSelf,
		} {
			t.Run(mode, func(t *testing.T) {
				if exit := taking(t, rt, mode); exit.Cause != want ||
					want == sandbox.ExitSelf && exit.Signal+exit.Code != 0 {
					t.Errorf("ended as %+v: %s", exit, exit.Stderr)
				}
			})
		}
	})
}

// taking has a guest do one thing of quotas.py and returns how it ended.
func taking(t *testing.T, rt sandbox.Runtime, mode string) sandbox.Exit {
	t.Helper()
	files, err := fs.Sub(quotas, "testdata/quotas")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	sb, err := rt.Start(ctx, sandbox.Spec{
		Session: "quotas", Files: files, Boot: "quotas.py", Policy: policyOf(sandbox.IsolationFull),
		Env: []string{"CODEMODE_TEST_QUOTA=" + mode},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer sb.Close()
	defer time.AfterFunc(30*time.Second, sb.Kill).Stop()
	if line, err := bufio.NewReader(sb.Channel()).ReadString('\n'); err == nil {
		said := time.Now()
		<-sb.Done()
		t.Logf("%q, and its end %v later", line, time.Since(said))
	}
	<-sb.Done()
	return sb.Exit()
}

// TestUnreadable: a guest is ended of which an ordinary user cannot see what a process has open, and not for one that
// ends meanwhile. Root sees it.
func TestUnreadable(t *testing.T) {
	sandboxtest.EachUser(t, func(t *testing.T) {
		sleep, err := exec.LookPath("sleep")
		if err != nil {
			t.Skip(err)
		}
		program, err := os.ReadFile(sleep)
		if err != nil {
			t.Fatal(err)
		}
		for mode, want := range map[os.FileMode]bool{0o111: os.Geteuid() != 0, 0o755: false} {
			copied := filepath.Join(t.TempDir(), "sleep")
			if err := os.WriteFile(copied, program, mode); err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(copied, "60")
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			at, after := sandbox.Causes(cmd.Process.Pid)
			if ended := after == sandbox.ExitUnreadable; at != sandbox.ExitSelf || ended != want {
				t.Errorf("%o: at first %v, then ended %t, want %t", mode, at, ended, want)
			}
			_ = cmd.Process.Kill()
			var info unix.Siginfo // it stays, without memory
			if err := unix.Waitid(unix.P_PID, cmd.Process.Pid, &info, unix.WEXITED|unix.WNOWAIT, nil); err != nil {
				t.Fatal(err)
			}
			if at, after := sandbox.Causes(cmd.Process.Pid); at != sandbox.ExitSelf || after != sandbox.ExitSelf {
				t.Errorf("%o: when it has ended, %v and %v", mode, at, after)
			}
			_ = cmd.Wait() // it was killed
		}
	})
}
