package mount

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"codemode/internal/hint"
	"codemode/internal/require"
	"codemode/internal/sandbox/sandboxtest"

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

// TestMountedFile: a file of credentials is one wherever it is mounted, and by a hard link.
func TestMountedFile(t *testing.T) {
	dir := realTemp(t)
	key, place := filepath.Join(dir, "home", ".ssh", "keys", "id"), filepath.Join(dir, "work", "y")
	for _, name := range []string{key, place} {
		must(t, os.MkdirAll(filepath.Dir(name), 0o755))
		must(t, os.WriteFile(name, nil, 0o600))
	}
	home := filepath.Join(dir, "home")
	r := Rules{Homes: []string{home}, Trusted: []string{home}}
	work := []Request{{Path: filepath.Join(dir, "work"), Name: "work"}}
	if _, err := r.Choose(work); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "link")
	must(t, os.Link(key, link))
	if err := r.judge(link, false); err == nil || !strings.Contains(err.Error(), "holds credentials") {
		t.Errorf("a hard link of it: %v", err)
	}
	if err := unix.Mount(key, place, "", unix.MS_BIND, ""); err != nil {
		require.Lacking(t, "mounts", "mounting: %v", err)
	}
	defer unix.Unmount(place, unix.MNT_DETACH)
	if _, err := r.Choose(work); err == nil || !strings.Contains(err.Error(), "holds credentials") {
		t.Errorf("with a key mounted in it: %v", err)
	}
}

// TestClosed: a folder that is closed to its user, as code that may change it can, is told of with how it is opened.
func TestClosed(t *testing.T) {
	sandboxtest.EachUser(t, func(t *testing.T) {
		if os.Geteuid() == 0 {
			return // to whom nothing is closed
		}
		dir := realTemp(t)
		must(t, os.Chmod(dir, 0))
		_, err := Rules{}.Choose([]Request{{Path: dir, Name: "x"}})
		if !errors.Is(err, fs.ErrPermission) || !strings.Contains(strings.Join(hint.Of(err), "\n"), "chmod u+rwx") {
			t.Errorf("%v, %q", err, hint.Of(err))
		}
	})
}
