package packages

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"codemode/internal/require"

	"golang.org/x/sys/unix"
)

// TestSweepWaits: what a killed process was at goes, though for a moment it cannot, as a process of its still has it.
func TestSweepWaits(t *testing.T) {
	s := newStore(t)
	busy := filepath.Join(s.layers(), tempName+"busy", "within")
	if err := os.MkdirAll(busy, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("none", busy, "tmpfs", 0, ""); err != nil {
		require.Lacking(t, "mounts", "nothing can be mounted here: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(busy, unix.MNT_DETACH) })
	time.AfterFunc(50*time.Millisecond, func() { _ = unix.Unmount(busy, 0) })
	s.sweep()
	if left, _ := filepath.Glob(filepath.Join(s.layers(), tempName+"*")); len(left) > 0 {
		t.Errorf("after the sweep there is %q", left)
	}
}
