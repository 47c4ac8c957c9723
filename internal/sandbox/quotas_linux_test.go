package sandbox_test

import (
	"bufio"
	"context"
	"embed"
	"io/fs"
	"testing"
	"time"

	"codemode/internal/sandbox"
	"codemode/internal/sandbox/sandboxtest"
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
			"kernel_files":    sandbox.ExitMemory,
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
