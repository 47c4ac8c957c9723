package watchdog_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"codemode/internal/sandbox/sandboxtest"
	"codemode/internal/sandbox/watchdog"
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
