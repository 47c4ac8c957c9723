package mount

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"codemode/internal/require"

	"golang.org/x/sys/unix"
)

// TestMountedBelow: a home is one wherever it is mounted, and so is a folder around that place.
func TestMountedBelow(t *testing.T) {
	dir := realTemp(t)
	home, place := filepath.Join(dir, "home"), filepath.Join(dir, "work", "a b", "here")
	must(t, os.MkdirAll(home, 0o755))
	must(t, os.MkdirAll(place, 0o755))
	r := Rules{Homes: []string{home}, Trusted: []string{home}}
	work := []Request{{Path: filepath.Join(dir, "work"), Name: "work"}}
	if _, err := r.Choose(work); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount(home, place, "", unix.MS_BIND, ""); err != nil {
		require.Lacking(t, "mounts", "mounting: %v", err)
	}
	defer unix.Unmount(place, unix.MNT_DETACH)
	if _, err := r.Choose(work); err == nil || !strings.Contains(err.Error(), "your home is in it") {
		t.Errorf("with a home mounted in it: %v", err)
	}
}
