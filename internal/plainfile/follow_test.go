package plainfile

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"codemode/internal/require"
)

// TestFollow: links on the way to a trusted folder are followed, and no others.
func TestFollow(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	at := func(name string) string { return filepath.Join(dir, name) }
	if err := errors.Join(
		os.MkdirAll(at("real/a/b"), 0o755), os.Symlink(at("real"), at("home")),
		os.Symlink(at("real/a"), at("real/link")), os.Symlink(at("real/a"), at("real/work")),
	); err != nil {
		require.Lacking(t, "symlinks", "%v", err)
	}
	trusted := []string{at("home/work")}
	for path, want := range map[string]string{
		"home": at("real"), "home/a/b": at("real/a/b"), "home/work/b": at("real/a/b"), "real/none/x": at("real/none/x"),
		"home/link": "", "home/link/b": "", "real/link": "", "real/work/b": "",
	} {
		real, err := Follow(at(path), trusted)
		if real != want || (err == nil) != (want != "") || err != nil && !strings.Contains(err.Error(), at("real/a")) {
			t.Errorf("%s: %q, %v; want %q", path, real, err, want)
		}
	}
}

// TestReadFollowed: a file is read by a path that is followed, and by no other.
func TestReadFollowed(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	at := func(name string) string { return filepath.Join(dir, name) }
	if err := errors.Join(
		os.Mkdir(at("real"), 0o755), os.WriteFile(at("real/file"), []byte("text"), 0o600),
		os.Symlink("real", at("home")), os.Symlink("file", at("real/link")), os.Symlink("none", at("real/dangling")),
	); err != nil {
		require.Lacking(t, "symlinks", "%v", err)
	}
	for path, want := range map[string]bool{
		at("real/file"): true, at("home/file"): true, at("real/link"): false, at("home/link"): false,
		at("real/dangling"): false, at("real/none"): false, at("real"): false, "follow.go": false,
	} {
		data, err := ReadFollowed(path, []string{at("home")}, 4)
		if (err == nil) != want || want && string(data) != "text" {
			t.Errorf("%s: %q, %v", path, data, err)
		}
	}
	if data, err := ReadFollowed(at("real/file"), nil, 3); err == nil {
		t.Errorf("of 3 bytes at most: %q", data)
	}
}
